import type {DryRun} from '../experiments/dry-run.js'
import type {Block} from '../report/document.js'
import type {AnyRecord} from '../results/schemas/index.js'
import type {AnyPlan, RunManifest} from '../results/schemas/manifest.js'
import type {ExperimentRun} from '../runner/run-experiment.js'
import {RfaCommand} from './base-command.js'
import {commandLine, resumeLine} from './command-line.js'
import {EXIT_CELLS_FAILED} from './exit-codes.js'
import type {RunOptions} from './flags.js'
import type {EstimatorFacts} from './plans/method-specs.js'

/** Turns the records of a run into what is printed. */
export type RunReport = (records: readonly AnyRecord[], manifest: RunManifest) => Block[]

/** A command that runs a plan: `bench`, `error-sweep`, `variance`. */
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
  protected async conduct(
    plan: AnyPlan,
    flags: RunOptions,
    report: RunReport,
  ): Promise<ExperimentRun | DryRun> {
    if (flags['dry-run']) return this.describe(plan, flags.threads)
    const [{runPlan}, {renderTerminal}] = await Promise.all([
      import('./run-plan.js'),
      import('../report/terminal.js'),
    ])
    const run = await runPlan(plan, flags, {
      command: commandLine(this.config.bin, this.id ?? '', this.argv),
      resumeCommand: folder => resumeLine(this.config.bin, this.id ?? '', this.argv, folder),
      note: text => this.note(text),
      caution: text => this.caution(text),
    })
    this.print(renderTerminal(report(run.records, run.manifest), this.layout()))
    if (run.counts.failed > 0) process.exitCode = EXIT_CELLS_FAILED
    return run
  }

  /** What `--dry-run` does: cells, predicted time and memory; nothing is written. */
  private async describe(plan: AnyPlan, threads: number | undefined): Promise<DryRun> {
    const [{describePlan}, {checkPlan, concurrencyOf}, {dryRunReport}, {renderTerminal}] =
      await Promise.all([
        import('../experiments/index.js'),
        import('./run-plan.js'),
        import('../experiments/dry-run.js'),
        import('../report/terminal.js'),
      ])
    await checkPlan(plan)
    const dryRun = {plan, ...(await describePlan(plan, concurrencyOf(plan, threads)))}
    this.print(renderTerminal(dryRunReport(dryRun), this.layout()))
    return dryRun
  }
}
