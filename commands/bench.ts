import {helpText} from '../src/cli/base-command.js'
import type {Baselines} from '../src/cli/bench-baseline.js'
import {EXIT_REGRESSION} from '../src/cli/exit-codes.js'
import {ExperimentCommand} from '../src/cli/experiment-command.js'
import {type BenchFlags, benchFlags, toBenchPlan} from '../src/cli/plans/bench.js'
import {asksEstimators} from '../src/cli/plans/method-specs.js'
import {BASELINES} from '../src/experiments/bench/baselines.js'
import type {Plan} from '../src/results/record.js'
import type {ExperimentRun} from '../src/runner/run-experiment.js'

export default class Bench extends ExperimentCommand {
  static override summary = 'Measure time and memory of forward passes, or of decoding'
  static override description = helpText(
    `Runs each estimator at each length in a process of its own, after a check of its accuracy on a short prefix; cells take turns, so that what disturbs the machine for a while falls on all; and compares with both exact forms (${BASELINES.join(', ')}). With --mode decode it passes tokens one by one through the recurrent form.`,
  )
  static override examples = [
    '<%= config.bin %> bench --quick',
    '<%= config.bin %> bench --methods favor-pos,rfa --num-features 64,256 --seq-len 256..16kx2 --causal',
    '<%= config.bin %> bench --mode decode --methods rfa --seq-len 100,2048',
    '<%= config.bin %> bench --quick --save-baseline before',
    '<%= config.bin %> bench --quick --baseline before --fail-on time:25%',
    '<%= config.bin %> bench --seq-len 1024 --min-time 2 --backend wasm --output results/wasm',
  ]
  static override flags = benchFlags

  async run() {
    const {flags} = await this.parse(Bench)
    const saved = await this.savedPlan(flags)
    const estimators = await this.estimators(!saved && asksEstimators(flags))
    const plan = saved ?? toBenchPlan(flags, estimators)
    const baselines = await this.baselines(plan, flags)
    const run = await this.conduct(plan, flags)
    return baselines && 'records' in run ? this.settle(baselines, run) : run
  }

  /** Those that flags ask for, looked at before anything is timed. */
  private async baselines(plan: Plan, flags: BenchFlags): Promise<Baselines | undefined> {
    const {baseline, 'save-baseline': save, 'fail-on': limits, strict} = flags
    if ((baseline ?? save ?? limits) === undefined && !strict) return undefined
    const {openBaselines} = await import('../src/cli/bench-baseline.js')
    return openBaselines(plan, flags, {bin: this.config.bin, services: this.services})
  }

  /** Prints the comparison with the baseline, and saves the run as one. */
  private async settle(baselines: Baselines, run: ExperimentRun) {
    const {settleBaselines} = await import('../src/cli/bench-baseline.js')
    const {compared, notes} = await settleBaselines(baselines, run)
    for (const note of notes) this.note(note)
    if (!compared) return run
    const {renderTerminal} = await import('../src/report/terminal.js')
    this.print(`\n${renderTerminal(compared.blocks, this.layout())}`)
    if (!compared.facts.passed) process.exitCode ||= EXIT_REGRESSION
    return {...run, comparison: {schema: 'rfa.comparison/1' as const, ...compared.facts}}
  }
}
