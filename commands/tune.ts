import {withCausal} from '../src/cli/plans/input-spec.js'
import {refuseModelFlags} from '../src/cli/plans/model-tune.js'
import {type TypedTuneFlags, toTunePlan, tuneFlags} from '../src/cli/plans/tune.js'
import {EXIT_CELLS_FAILED} from '../src/cli/program/exit-codes.js'
import {helpText} from '../src/cli/run/base-command.js'
import {ExperimentCommand} from '../src/cli/run/experiment-command.js'
import type {ExperimentRun} from '../src/runner/folder/finished-run.js'

export default class Tune extends ExperimentCommand {
  static override summary = 'Learn the parameters of a method, for a layer or for a whole model'
  static override description = helpText(
    'Learns maps of queries and keys and the random vectors of a method, head by head, so that its outputs come close to those of exact attention; part of the texts is held out to measure that. No weight of the model changes: maps fold into those of queries and keys, so that running costs nothing more.',
    'With --model it learns all layers of a pretrained model, one after the other, on two thirds of the texts. The others say what the model loses with what was learned, without it, and with 16 times as many random vectors.',
  )
  static override examples = [
    '<%= config.bin %> tune --quick',
    '<%= config.bin %> tune --model ./all-MiniLM-L6-v2 --texts texts.txt --output tuned.safetensors',
    '<%= config.bin %> tune --input qkv.safetensors --method favor-pos --num-features 64 --output tuned.safetensors',
    '<%= config.bin %> tune --input layer0.safetensors,layer1.safetensors --learn maps --steps 150',
  ]
  static override flags = tuneFlags

  async run() {
    const {flags: typed} = await this.parse(Tune)
    if (typed.model !== undefined) return this.tuneModel(typed)
    refuseModelFlags(typed)
    const {runFolder, tunedLines} = await import('../src/cli/run/tuned-file.js')
    const flags = {...typed, ...(await runFolder(typed))}
    const saved = await this.savedPlan(flags)
    const plan = saved ?? toTunePlan(await withCausal(flags), await this.estimators(true))
    const run = await this.runOrDescribe(plan, flags)
    if ('records' in run) for (const line of tunedLines(run, this.config.bin)) this.note(line)
    return run
  }

  private async tuneModel(flags: TypedTuneFlags & {quiet: boolean}): Promise<ExperimentRun> {
    const {runModelTune} = await import('../src/cli/run/run-model-tune.js')
    const estimators = await this.estimators(true)
    const {run, texts, closing} = await runModelTune(flags, estimators, this.invocation())
    const {experimentNamed} = await import('../src/experiments/index.js')
    const experiment = await experimentNamed('swap')
    const shown = await this.withColumns(experiment, run, flags)
    await this.printRun(experiment, run, shown)
    for (const line of [texts, ...closing]) this.note(line)
    await this.writeFiles(run, shown)
    if (run.counts.failed > 0) process.exitCode = EXIT_CELLS_FAILED
    return run
  }
}
