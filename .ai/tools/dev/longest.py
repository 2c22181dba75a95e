"""The longest source files of this project, to see where a file hides a second concept."""

import json
import sys
from pathlib import Path

__version__ = "1.0.0"
__tool_type__ = "python"
__executor_id__ = "rye/core/runtimes/python/script"
__category__ = "dev"
__tool_description__ = "List the longest Rust files below src, with their number of lines"

CONFIG_SCHEMA = {
    "type": "object",
    "properties": {
        "count": {
            "type": "integer",
            "description": "How many files to list",
            "default": 10,
            "minimum": 1,
            "maximum": 100,
        },
    },
}


def execute(params, project_path):
    files = Path(project_path, "src").rglob("*.rs")
    lengths = [(len(path.read_text(encoding="utf-8").splitlines()), path) for path in files]
    longest = sorted(lengths, reverse=True)[: params.get("count", 10)]
    listed = [{"file": str(path.relative_to(project_path)), "lines": lines} for lines, path in longest]
    return {"success": True, "files": listed}


if __name__ == "__main__":
    project = sys.argv[sys.argv.index("--project-path") + 1] if "--project-path" in sys.argv else "."
    print(json.dumps(execute(json.load(sys.stdin), project)))
