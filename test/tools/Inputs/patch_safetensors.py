"""Copies a safetensors file with one element of one F32 tensor overwritten.

usage: patch_safetensors.py FROM TO TENSOR INDEX VALUE
"""

import json
import struct
import sys

source, target, tensor, index, value = sys.argv[1:]
data = bytearray(open(source, "rb").read())
size = struct.unpack_from("<Q", data)[0]
info = json.loads(data[8:8 + size])[tensor]
assert info["dtype"] == "F32"
struct.pack_into("<f", data, 8 + size + info["data_offsets"][0] + 4 * int(index), float(value))
open(target, "wb").write(data)
