import {helpText} from '../src/cli/base-command.js'
import {ExperimentCommand} from '../src/cli/experiment-command.js'
import {benchFlags, toBenchPlan} from '../src/cli/plans/bench.js'
import {asksEstimators} from '../src/cli/plans/method-specs.js'
import {BASELINES} from '../src/experiments/bench/baselines.js'

export default class Bench extends ExperimentCommand {
  static override summary = 'Measure time and memory of forward passes, or of decoding'
  static override description = helpText(
    `Runs each estimator at each length in a process of its own, after a check of its accuracy on a short prefix; cells take turns, so that what disturbs the machine for a while falls on all; and compares with both exact forms (${BASELINES.join(', ')}). With --mode decode it passes tokens one by one through the recurrent form.`,
  )
  static override examples = [
    '<%= config.bin %> bench --quick',
    '<%= config.bin %> bench --methods favor-pos,rfa --num-features 64,256 --seq-len 256..16kx2 --causal',
    '<%= config.bin %> bench --mode decode --methods rfa --seq-len 100,2048',
    '<%= config.bin %> bench --seq-len 1024 --min-time 2 --backend wasm --output results/wasm',
  ]
  static override flags = benchFlags

  async run() {
    const {flags} = await this.parse(Bench)
    const saved = await this.savedPlan(flags)
    const estimators = await this.estimators(!saved && asksEstimators(flags))
    return this.conduct(saved ?? toBenchPlan(flags, estimators), flags)
  }
}
