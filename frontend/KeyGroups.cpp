//===- KeyGroups.cpp - keys that no reader may ignore
//----------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// A key of these lists changes what a model's attention computes. A family that
// meets one which it does not read would compute another model, so it refuses.
// The lists hold whole names: `vision_rope_theta` belongs to none of them.
//
//===----------------------------------------------------------------------===//

#include "frontend/ConfigReader.h"

#include <algorithm>

namespace attnc {

namespace {
struct KeyGroup {
  const char *name;
  std::vector<std::string> keys;
};
} // namespace

static const std::vector<KeyGroup> &keyGroups() {
  static const std::vector<KeyGroup> groups = {
      {"rope",
       {"rope_theta",
        "rope_scaling",
        "rope_parameters",
        "rope_interleave",
        "rope_interleaved",
        "rope_type",
        "rope_factor",
        "rope_ratio",
        "rope_percent",
        "rope_pct",
        "rope_dim",
        "rope_head_dim",
        "rope_local_base_freq",
        "rope_global_base_freq",
        "global_rope_theta",
        "local_rope_theta",
        "swa_rope_theta",
        "rotary_dim",
        "rotary_pct",
        "rotary_base",
        "rotary_emb_base",
        "rotary_percent",
        "partial_rotary_factor",
        "qk_rope_head_dim",
        "no_rope_layers",
        "no_rope_layer_interval",
        "position_embedding_type",
        "alibi",
        "original_max_position_embeddings",
        "original_seq_len",
        "beta_fast",
        "beta_slow",
        "mscale",
        "mscale_all_dim",
        "attn_factor",
        "attention_factor"}},
      {"index",
       {"index_n_heads", "index_head_dim", "index_topk", "index_topk_freq",
        "index_topk_pattern", "index_skip_topk_offset", "index_source_layers",
        "index_source_layer_ids", "index_rope_head_dim",
        "indexer_rope_interleave", "indexer_types", "candidate_source_layer",
        "candidate_source_layer_id", "candidate_topk_blocks",
        "candidate_block_size"}},
      {"compress",
       {"compress_ratios", "compress_ratio", "compress_rope_theta",
        "compress_rates", "compress_rate_csa", "compress_rate_hca",
        "kv_source_layers", "kv_source_layer_ids"}},
      {"attention",
       {"num_attention_heads",
        "num_key_value_heads",
        "num_kv_heads",
        "multi_query",
        "head_dim",
        "qk_head_dim",
        "qk_nope_head_dim",
        "v_head_dim",
        "q_lora_rank",
        "kv_lora_rank",
        "o_lora_rank",
        "o_groups",
        "attention_bias",
        "qkv_bias",
        "use_qkv_bias",
        "attention_out_bias",
        "qk_norm",
        "use_qk_norm",
        "use_qk_norm_in_attn",
        "attention_multiplier",
        "query_pre_attn_scalar",
        "attn_logit_softcapping",
        "clip_qkv",
        "logn_attn",
        "use_logn_attn",
        "attn_temperature_tuning",
        "sliding_window",
        "sliding_window_size",
        "sliding_window_pattern",
        "use_sliding_window",
        "max_window_layers",
        "window_size",
        "attention_window",
        "attention_chunk_size",
        "layer_types",
        "num_kv_shared_layers",
        "attention_sinks",
        "attn_sink",
        "add_swa_attention_sink_bias",
        "add_full_attention_sink_bias",
        "use_bidirectional_attention",
        "attn_output_gate"}},
  };
  return groups;
}

void checkUnread(const ConfigObject &root) {
  for (const std::string &key : root.unread()) {
    // A null says that the model has no such thing, as does not reading it.
    if (root.hasValue(key))
      for (const KeyGroup &group : keyGroups())
        if (std::find(group.keys.begin(), group.keys.end(), key) !=
            group.keys.end())
          root.fail(key,
                    std::string("found a key of the ") + group.name +
                        " group that '" + root.config().modelType +
                        "' does not read",
                    "only keys that the family reads");
    root.config().unknownKeys.push_back(joinPointer(root.pointer(), key));
  }
}

} // namespace attnc
