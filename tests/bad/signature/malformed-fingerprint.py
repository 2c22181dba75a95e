# levain:signed:2026-11-22T08:49:43Z:9df31d4ab498f1ba98457d432ca68926b69033153e8aa9f7d65a66b45c76e4d2:DZrm2FU5aclT4HPLI8ZZ-IzGRsgSvts8AwmBKrVgCnDW2DbPUmJkYkg50V6-PycRz_FUhkNFCYazYYDBETW6CA==:me
__version__ = "1.0.0"
__tool_description__ = "Counts"
