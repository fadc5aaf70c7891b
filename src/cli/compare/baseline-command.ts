/** Commands that time, and compare the run with the earlier one that `--baseline` names. */
import type {Plan} from '../../results/record.js'
import type {DryRun} from '../../runner/dry-run.js'
import type {ExperimentRun} from '../../runner/run-experiment.js'
import type {RunOptions} from '../flags/shared.js'
import {EXIT_REGRESSION} from '../program/exit-codes.js'
import {ExperimentCommand} from '../run/experiment-command.js'
import type {Baseline, BaselineFlags} from './baseline.js'

/** A command that runs a plan, and compares it with an earlier run where that is asked for. */
export abstract class BaselineCommand extends ExperimentCommand {
  /** As {@link runOrDescribe}, with the comparison below; the earlier run is looked at before anything is timed. */
  protected async runAndCompare(
    plan: Plan,
    flags: RunOptions & BaselineFlags,
  ): Promise<ExperimentRun | DryRun> {
    const {baseline: folder, 'fail-on': limits, strict} = flags
    if ((folder ?? limits) === undefined && !strict) return this.runOrDescribe(plan, flags)
    const {openBaseline} = await import('./baseline.js')
    const own = {bin: this.config.bin, services: this.services}
    const baseline = await openBaseline(plan, flags, own)
    const run = await this.runOrDescribe(plan, flags)
    return baseline && 'records' in run ? this.compared(baseline, run) : run
  }

  /** Prints the comparison with the baseline. */
  private async compared(baseline: Baseline, run: ExperimentRun) {
    const {compareWithBaseline} = await import('./baseline.js')
    const {blocks, facts} = await compareWithBaseline(baseline, run)
    const {renderTerminal} = await import('../../report/terminal.js')
    this.print(`\n${renderTerminal(blocks, this.layout())}`)
    if (!facts.passed) process.exitCode ||= EXIT_REGRESSION
    return {...run, comparison: {schema: 'rfa.comparison/1' as const, ...facts}}
  }
}
