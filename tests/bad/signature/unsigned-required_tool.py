__version__ = "1.0.0"
__tool_description__ = "Counts"
