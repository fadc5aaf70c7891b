import {type BenchFlags, benchFlags, toBenchPlan} from '../src/cli/plans/bench.js'
import {fileShape} from '../src/cli/plans/bench-input.js'
import {timedModel} from '../src/cli/plans/bench-model.js'
import {asksEstimators, type EstimatorFacts} from '../src/cli/plans/method-specs.js'
import {tunedFile} from '../src/cli/plans/tuned.js'
import {helpText} from '../src/cli/run/base-command.js'
import {TimedCommand} from '../src/cli/run/timed-command.js'
import {BASELINES} from '../src/experiments/bench/fields/baselines.js'
import type {Plan} from '../src/results/record.js'

export default class Bench extends TimedCommand {
  static override summary = 'Measure time and memory of forward passes, or of decoding'
  static override description = helpText(
    `Checks the accuracy of each estimator on a short prefix, then times it at each length in several fresh processes. Cells take turns there, so that what disturbs the machine for a while falls on all of them. Both exact forms (${BASELINES.join(', ')}) are timed, too, for comparison. With --mode decode it passes tokens one by one through the recurrent form; with --model it times a whole pretrained model.`,
  )
  static override examples = [
    '<%= config.bin %> bench --quick',
    '<%= config.bin %> bench --methods favor-pos,rfa --num-features 64,256 --seq-len 256..16kx2 --causal',
    '<%= config.bin %> bench --mode decode --methods rfa --seq-len 100,2048',
    '<%= config.bin %> bench --heads 32 --kv-heads 8 --head-dim 128 --seq-len 1024 --causal',
    '<%= config.bin %> bench --input qkv.safetensors --methods favor-pos,rfa',
    '<%= config.bin %> bench --model ./all-MiniLM-L6-v2 --methods favor-pos,elu --num-features 64',
    '<%= config.bin %> bench --seq-len 1024 --min-time 2 --backend wasm --output results/wasm',
  ]
  static override flags = benchFlags

  async run() {
    const {flags} = await this.parse(Bench)
    const saved = await this.savedPlan(flags)
    const {typed, others} = this.plugins
    const asked = asksEstimators(flags) || typed.length + others.length > 0
    const estimators = await this.estimators(!saved && asked)
    const run = await this.runQuietly(saved ?? (await this.planOf(flags, estimators)), flags)
    if ('records' in run) {
      const {nextSwap} = await import('../src/cli/run/next-swap.js')
      for (const line of nextSwap(run, this.config.bin, flags)) this.note(line)
    }
    return run
  }

  private async planOf(flags: BenchFlags, estimators: EstimatorFacts): Promise<Plan> {
    const listeners = {
      note: (text: string) => this.note(text),
      warn: (text: string) => this.caution(text),
    }
    const model = await timedModel(flags)
    const file = await fileShape(flags, listeners)
    const tuned = await tunedFile(flags)
    return toBenchPlan(flags, estimators, file, tuned, model)
  }
}
