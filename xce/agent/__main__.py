"""`python -m xce.agent`: an agent with its settings as one JSON object in the first argument."""

import sys

import msgspec

from xce.agent.main import run_agent
from xce.agent.settings import AgentConfig

if __name__ == "__main__":
    sys.exit(run_agent(msgspec.json.decode(sys.argv[1], type=AgentConfig)))
