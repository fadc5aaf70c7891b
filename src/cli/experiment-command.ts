import type {Plan} from '../results/record.js'
import type {DryRun} from '../runner/dry-run.js'
import type {ExperimentRun} from '../runner/run-experiment.js'
import {RfaCommand} from './base-command.js'
import {EXIT_CELLS_FAILED} from './exit-codes.js'
import type {RunOptions} from './flags.js'
import type {EstimatorFacts} from './plans/method-specs.js'

/** A command that runs a plan. */
export abstract class ExperimentCommand extends RfaCommand {
  /** The registry of estimators, loaded. */
  protected async estimators(): Promise<EstimatorFacts> {
    const {loadEstimators} = await import('../attention/names.js')
    return loadEstimators()
  }

  /**
   * Runs the plan, or only describes it under `--dry-run`, and prints the outcome.
   *
   * @returns what `--json` prints
   */
  protected async conduct(plan: Plan, flags: RunOptions): Promise<ExperimentRun | DryRun> {
    const {prepare, runPrepared} = await import('./run-plan.js')
    const invocation = {
      argv: [this.config.bin, this.id ?? '', ...this.argv],
      services: this.services,
      note: (text: string) => this.note(text),
      caution: (text: string) => this.caution(text),
    }
    const prepared = await prepare(plan, flags, invocation)
    const {renderTerminal} = await import('../report/terminal.js')
    if (flags['dry-run']) {
      const {describeRun, dryRunReport} = await import('../runner/dry-run.js')
      const described = describeRun(prepared.run, prepared.schedule)
      this.print(renderTerminal(dryRunReport(described), this.layout()))
      return described
    }
    const run = await runPrepared(prepared, flags, invocation)
    const report = await prepared.run.experiment.report(run.records)
    this.print(renderTerminal(report, this.layout()))
    if (run.counts.failed > 0) process.exitCode = EXIT_CELLS_FAILED
    return run
  }
}
