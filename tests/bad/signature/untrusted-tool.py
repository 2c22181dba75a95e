# levain:signed:2026-11-22T08:49:43Z:9df31d4ab498f1ba98457d432ca68926b69033153e8aa9f7d65a66b45c76e4d2:sMsGlrEvAw7HVA9R3gapNk6PiDhoMuMF8-zsvhsDfTpMECwxHqdrU4J5DyNFY8AbRRVtDlvQmkopB_YO10TRAA==:8c6c7dce4d09aa4e
__version__ = "1.0.0"
__tool_description__ = "Counts"
