"""An engine in the agents of frameworks, a module for each, which needs the extra of its name: `langchain`,
`pydantic_ai`, `openai_agents`.

A module is thin: it says to `rehydrate.context` in the framework's own types what is said anyhow, and it alone needs
the package; what it stands on (`langchain_call`, `pydantic_ai_views`, ...) knows the framework's messages as JSON has
them.  What the engine has not changed comes back as the object that it was.
"""
