import type {Baseline} from '../src/cli/compare/bench-baseline.js'
import {type BenchFlags, benchFlags, toBenchPlan} from '../src/cli/plans/bench.js'
import {fileShape} from '../src/cli/plans/bench-input.js'
import {asksEstimators} from '../src/cli/plans/method-specs.js'
import {EXIT_REGRESSION} from '../src/cli/program/exit-codes.js'
import {helpText} from '../src/cli/run/base-command.js'
import {ExperimentCommand} from '../src/cli/run/experiment-command.js'
import {BASELINES} from '../src/experiments/bench/fields/baselines.js'
import type {Plan} from '../src/results/record.js'
import type {ExperimentRun} from '../src/runner/run-experiment.js'

export default class Bench extends ExperimentCommand {
  static override summary = 'Measure time and memory of forward passes, or of decoding'
  static override description = helpText(
    `Runs each estimator at each length in several fresh processes, after a check of its accuracy on a short prefix; cells take turns, so that what disturbs the machine for a while falls on all; and compares with both exact forms (${BASELINES.join(', ')}). With --mode decode it passes tokens one by one through the recurrent form.`,
  )
  static override examples = [
    '<%= config.bin %> bench --quick',
    '<%= config.bin %> bench --methods favor-pos,rfa --num-features 64,256 --seq-len 256..16kx2 --causal',
    '<%= config.bin %> bench --mode decode --methods rfa --seq-len 100,2048',
    '<%= config.bin %> bench --heads 32 --kv-heads 8 --head-dim 128 --seq-len 1024 --causal',
    '<%= config.bin %> bench --input qkv.safetensors --methods favor-pos,rfa',
    '<%= config.bin %> bench --output results/before',
    '<%= config.bin %> bench --baseline results/before --fail-on time:10%',
    '<%= config.bin %> bench --seq-len 1024 --min-time 2 --backend wasm --output results/wasm',
  ]
  static override flags = benchFlags

  async run() {
    const {flags} = await this.parse(Bench)
    const saved = await this.savedPlan(flags)
    const estimators = await this.estimators(!saved && asksEstimators(flags))
    const listeners = {
      note: (text: string) => this.note(text),
      warn: (text: string) => this.caution(text),
    }
    const file = saved ? undefined : await fileShape(flags, listeners)
    const plan = saved ?? toBenchPlan(flags, estimators, file)
    const baseline = await this.baseline(plan, flags)
    const run = await this.runOrDescribe(plan, flags)
    return baseline && 'records' in run ? this.settle(baseline, run) : run
  }

  /** The run that flags ask for, looked at before anything is timed. */
  private async baseline(plan: Plan, flags: BenchFlags): Promise<Baseline | undefined> {
    const {baseline, 'fail-on': limits, strict} = flags
    if ((baseline ?? limits) === undefined && !strict) return undefined
    const {openBaseline} = await import('../src/cli/compare/bench-baseline.js')
    return openBaseline(plan, flags, {bin: this.config.bin, services: this.services})
  }

  /** Prints the comparison with the baseline. */
  private async settle(baseline: Baseline, run: ExperimentRun) {
    const {compareWithBaseline} = await import('../src/cli/compare/bench-baseline.js')
    const compared = await compareWithBaseline(baseline, run)
    const {renderTerminal} = await import('../src/report/terminal.js')
    this.print(`\n${renderTerminal(compared.blocks, this.layout())}`)
    if (!compared.facts.passed) process.exitCode ||= EXIT_REGRESSION
    return {...run, comparison: {schema: 'rfa.comparison/1' as const, ...compared.facts}}
  }
}
