"""llama.cpp's HTTP server with one small model on loopback: serve.py MODEL.gguf PORT. Runs until it is ended."""

import signal
import sys

import xllamacpp

parameters = xllamacpp.CommonParams()
parameters.model.path = sys.argv[1]
parameters.hostnames = ["127.0.0.1"]
parameters.port = int(sys.argv[2])
parameters.n_ctx = 4096
parameters.n_parallel = 1
parameters.use_jinja = True
parameters.endpoint_metrics = True
# The same question gets the same answer.
parameters.sampling.temp = 0.0
parameters.sampling.seed = 1
# Without this, llama.cpp starts as many threads as it likes, and a small machine stands still.
parameters.cpuparams.n_threads = 2
parameters.cpuparams_batch.n_threads = 2

signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
server = xllamacpp.Server(parameters)
while True:
    signal.pause()
