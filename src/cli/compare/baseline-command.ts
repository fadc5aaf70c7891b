/** Commands that time, and compare the run with the earlier one that `--baseline` names. */
import type {Experiment} from '../../experiments/experiment.js'
import type {Block} from '../../report/document.js'
import type {Plan} from '../../results/record.js'
import type {DryRun} from '../../runner/dry-run.js'
import type {ExperimentRun} from '../../runner/run-experiment.js'
import type {RunOptions} from '../flags/shared.js'
import {ExperimentCommand} from '../run/experiment-command.js'
import type {Baseline, BaselineFlags} from './baseline.js'
import {comparisonExit} from './comparison-exit.js'

/** Lines of a comparison that leave room for the answer above it. */
const COMPARISON_LINES = 12

/** What a command that times takes besides what all take. */
type TimedOptions = RunOptions & {'wait-quiet'?: number | undefined}

/** A command that runs a plan, and compares it with an earlier run where that is asked for. */
export abstract class BaselineCommand extends ExperimentCommand {
  /** Whether a comparison stands below the answer. */
  #compares = false

  /** As {@link runOrDescribe}, with the comparison below; the earlier run is looked at before anything is timed. */
  protected async runAndCompare(
    plan: Plan,
    flags: TimedOptions & BaselineFlags,
  ): Promise<ExperimentRun | DryRun> {
    const {baseline: folder, 'fail-on': limits, strict} = flags
    if ((folder ?? limits) === undefined && !strict) return this.runQuietly(plan, flags)
    const {openBaseline} = await import('./baseline.js')
    const own = {bin: this.config.bin, services: this.services}
    const baseline = await openBaseline(plan, flags, own)
    this.#compares = baseline !== undefined
    const run = await this.runQuietly(plan, flags)
    return baseline && 'records' in run ? this.compared(baseline, run, flags) : run
  }

  /** As {@link runOrDescribe}, once the machine is quiet where that is asked for. */
  private async runQuietly(plan: Plan, flags: TimedOptions): Promise<ExperimentRun | DryRun> {
    const {'wait-quiet': seconds} = flags
    if (seconds !== undefined && !flags['dry-run']) await this.waitUntilQuiet(seconds)
    return this.runOrDescribe(plan, flags)
  }

  private async waitUntilQuiet(seconds: number): Promise<void> {
    const {useText, waitUntilQuiet} = await import('../run/wait-quiet.js')
    const {duration} = await import('../run/progress.js')
    const limit = duration(1000 * seconds)
    const use = await waitUntilQuiet(1000 * seconds, first =>
      this.note(`waiting at most ${limit} for a quiet machine: ${useText(first)}`),
    )
    if (use) this.caution(`the machine was not quiet within ${limit}: ${useText(use)}`)
  }

  /** Above a comparison, whose table has the times of both runs, the answer without its table. */
  protected override async printedBlocks(
    experiment: Experiment,
    run: ExperimentRun,
    flags: RunOptions,
  ): Promise<readonly Block[]> {
    const blocks = await super.printedBlocks(experiment, run, flags)
    if (!this.#compares || flags.details) return blocks
    const answer = blocks.find(({kind}) => kind === 'text')
    return blocks.filter(one => one === answer || one.kind === 'heading' || one.kind === 'list')
  }

  /** Prints the comparison with the baseline. */
  private async compared(baseline: Baseline, run: ExperimentRun, {details}: RunOptions) {
    const {compareWithBaseline} = await import('./baseline.js')
    const {blocks, screen, facts} = await compareWithBaseline(baseline, run)
    this.print('')
    await this.printBlocks(this.withFlags(details ? blocks : screen(COMPARISON_LINES)))
    process.exitCode ||= comparisonExit(facts)
    return {...run, comparison: {schema: 'rfa.comparison/1' as const, ...facts}}
  }
}
