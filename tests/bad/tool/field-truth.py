__tool_description__ = True
