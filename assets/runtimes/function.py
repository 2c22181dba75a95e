# Runs a tool that is a Python function: execute(params, project_path), synchronous or not.
# The parameters are JSON on standard input, the result is JSON on standard output. What the tool prints by itself goes to
# standard error, so that it is seen and does not get into the result.
import sys

# The folder it is started in is the project, whose files are not modules of this program.
sys.path[:] = [folder for folder in sys.path if folder]

import asyncio
import importlib.util
import inspect
import json
import os

result_to = os.fdopen(os.dup(1), "w")
os.dup2(2, 1)
tool, project = sys.argv[1], sys.argv[2]
spec = importlib.util.spec_from_file_location(os.path.splitext(os.path.basename(tool))[0], tool)
module = importlib.util.module_from_spec(spec)
sys.modules[spec.name] = module
spec.loader.exec_module(module)
execute = getattr(module, "execute", None)
if execute is None:
    sys.exit(f"{tool} has no function execute(params, project_path)")
given = (json.load(sys.stdin), project)[: len(inspect.signature(execute).parameters) or 1]
result = execute(*given)
if inspect.isawaitable(result):

    async def wait():
        return await result

    result = asyncio.run(wait())
json.dump({} if result is None else result, result_to, default=str)
result_to.flush()
