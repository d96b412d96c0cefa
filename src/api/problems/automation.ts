import { Problem } from "../Problem.ts"

export class AlarmOver extends Problem<AlarmOver>()("AlarmOver", {
  status: 400,
  title: "The alarm is resolved",
  help: "Only an alarm that is open can be acknowledged. When the rule detects the client again, a new one opens."
}) {}
