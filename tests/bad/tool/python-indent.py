__version__ = "1.0.0"
if True:
print(1)
