"""What each verb prints with -o json, for those who check or describe all of them. A verb loads
what it prints, and not this.
"""

from __future__ import annotations

from flex_api.schemas.assess_output import AssessOutput
from flex_api.schemas.explain_output import ExplainOutput
from flex_api.schemas.log_verbs_output import DataOutput, ImportOutput, IngestOutput
from flex_api.schemas.name_server_config import ConfigServersOutput
from flex_api.schemas.nodes_and_jobs import FreezeOutput, HoldersOutput, NodesOutput
from flex_api.schemas.onboard_output import OnboardOutput
from flex_api.schemas.output_base import ErrorOutput, Output
from flex_api.schemas.routing import (
    RouteApplyOutput,
    RouteConfigOutput,
    RouteDeliverOutput,
    RouteFollowOutput,
    RouteOutput,
)
from flex_api.schemas.simulate_output import SimulateFitOutput, SimulateOutput, SimulatePaperOutput
from flex_api.schemas.site_moves import MovesOutput, ReadyOutput, RestOutput
from flex_api.schemas.sites_and_wishes import PinOutput, SitesOutput
from flex_api.schemas.standing_decisions import DecisionsOutput, DifferencesOutput
from flex_api.schemas.tokens_and_audit import (
    AuditOutput,
    AuditVerifyOutput,
    TokenOutput,
    TokensOutput,
)
from flex_api.schemas.verbs_output import (
    ConfigCheckOutput,
    ConfigShowOutput,
    DatabaseOutput,
    DemoOutput,
    DoctorOutput,
    FilesOutput,
    InitOutput,
    PlanOutput,
    PlansOutput,
    ProofOutput,
    ReportOutput,
    RunOutput,
    RunsOutput,
    StatusOutput,
    UnknownOutput,
    VerifyOutput,
    VersionOutput,
)
from flex_api.schemas.what_if_output import DiffOutput, FrontierOutput, WhatIfOutput

# By `flex VERB`.
OUTPUTS: dict[str, type[Output]] = {
    "version": VersionOutput,
    "sites list": SitesOutput,
    "explain": ExplainOutput,
    "sites unknown": UnknownOutput,
    "sites pin": PinOutput,
    "sites unpin": PinOutput,
    "wishes export": DecisionsOutput,
    "wishes diff": DifferencesOutput,
    "wishes apply": DifferencesOutput,
    "files": FilesOutput,
    "sites exclude": PinOutput,
    "dns holders": HoldersOutput,
    "dns takeover": HoldersOutput,
    "nodes list": NodesOutput,
    "nodes add": NodesOutput,
    "nodes set": NodesOutput,
    "freeze": FreezeOutput,
    "thaw": FreezeOutput,
    "approve": PlanOutput,
    "reject": PlanOutput,
    "ingest": IngestOutput,
    "import": ImportOutput,
    "data": DataOutput,
    "plan": PlanOutput,
    "plan list": PlansOutput,
    "plan verify-proof": ProofOutput,
    "plan frontier": FrontierOutput,
    "plan diff": DiffOutput,
    "whatif": WhatIfOutput,
    "apply": PlanOutput,
    "rollback": PlanOutput,
    "move": PlanOutput,
    "moves": MovesOutput,
    "moves again": RestOutput,
    "ready": ReadyOutput,
    "verify": VerifyOutput,
    "run": RunOutput,
    "status": StatusOutput,
    "history": RunsOutput,
    "doctor": DoctorOutput,
    "config check": ConfigCheckOutput,
    "config named": ConfigServersOutput,
    "config knot": ConfigServersOutput,
    "config show": ConfigShowOutput,
    "db status": DatabaseOutput,
    "init": InitOutput,
    "report": ReportOutput,
    "assess": AssessOutput,
    "onboard": OnboardOutput,
    "demo": DemoOutput,
    "route show": RouteOutput,
    "route config": RouteConfigOutput,
    "route deliver": RouteDeliverOutput,
    "route apply": RouteApplyOutput,
    "route follow": RouteFollowOutput,
    "simulate": SimulateOutput,
    "simulate paper": SimulatePaperOutput,
    "simulate fit": SimulateFitOutput,
    "token create": TokenOutput,
    "token list": TokensOutput,
    "token revoke": TokenOutput,
    "audit": AuditOutput,
    "audit verify": AuditVerifyOutput,
    "error": ErrorOutput,
}
