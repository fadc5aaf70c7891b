import {withCausal} from '../src/cli/plans/input-spec.js'
import {toTunePlan, tuneFlags} from '../src/cli/plans/tune.js'
import {helpText} from '../src/cli/run/base-command.js'
import {ExperimentCommand} from '../src/cli/run/experiment-command.js'

export default class Tune extends ExperimentCommand {
  static override summary =
    'Learn the parameters of a method on queries, keys and values of a layer'
  static override description = helpText(
    'Learns maps of queries and keys and the random vectors of a method, head by head, so that its outputs come close to those of exact attention; part of the texts is held out to measure that. No weight of the model changes: maps fold into those of queries and keys, so that running costs nothing more.',
  )
  static override examples = [
    '<%= config.bin %> tune --quick',
    '<%= config.bin %> tune --input qkv.safetensors --method favor-pos --num-features 64 --output tuned.safetensors',
    '<%= config.bin %> tune --input layer0.safetensors,layer1.safetensors --learn maps --steps 150',
  ]
  static override flags = tuneFlags

  async run() {
    const {flags: typed} = await this.parse(Tune)
    const {runFolder, tunedLines} = await import('../src/cli/run/tuned-file.js')
    const flags = {...typed, ...(await runFolder(typed))}
    const saved = await this.savedPlan(flags)
    const plan = saved ?? toTunePlan(await withCausal(flags), await this.estimators(true))
    const run = await this.runOrDescribe(plan, flags)
    if ('records' in run) for (const line of tunedLines(run, this.config.bin)) this.note(line)
    return run
  }
}
