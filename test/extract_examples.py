# Prints the ```mlir blocks of Markdown files, divided as attn-opt's
# --split-input-file wants them. Each block must be a file of its own; a comment
# above it names its place.
#
#   extract_examples.py PAGE.md ...

import re
import sys

blocks = []
for path in sys.argv[1:]:
    with open(path, encoding="utf-8") as page:
        text = page.read()
    for match in re.finditer(r"^```mlir\n(.*?)^```", text, re.MULTILINE | re.DOTALL):
        line = text.count("\n", 0, match.start()) + 2
        blocks.append(f"// {path}:{line}\n{match.group(1)}")
if not blocks:
    sys.exit(f"no mlir blocks in {' '.join(sys.argv[1:])}")
print("\n// -----\n\n".join(blocks))
