import {expected, RfaError} from '../../errors.js'
import {type Experiment, printedReport} from '../../experiments/experiment.js'
import {chosenTables} from '../../report/chosen.js'
import {commandText, typeablePath} from '../../report/command-line.js'
import type {Block} from '../../report/document.js'
import type {DrawFigure} from '../../report/terminal.js'
import type {Plan} from '../../results/record.js'
import type {ExperimentRun} from '../../runner/run-experiment.js'
import type {DryRun} from '../../runner/schedule/dry-run.js'
import {reportFlags} from '../flags/figures.js'
import {withShard} from '../flags/shard.js'
import type {RunOptions} from '../flags/shared.js'
import type {EstimatorFacts} from '../plans/method-specs.js'
import {EXIT_CELLS_FAILED} from '../program/exit-codes.js'
import type {Invocation} from '../program/services.js'
import {RfaCommand} from './base-command.js'
import {nothingMeasured} from './nothing-measured.js'
import type {RecordedPlugins} from './plugins.js'

/** Flags that change nothing about what is run. */
const HOW_TO_RUN: ReadonlySet<string> = new Set([
  ...['output', 'resume', 'force', 'format', 'timeout', 'threads', 'profile', 'samples', 'dry-run'],
  ...['plugin', 'json', 'quiet', 'shard', 'plot', 'details', 'wait-quiet'],
  ...Object.keys(reportFlags),
])

export abstract class ExperimentCommand extends RfaCommand {
  /** The registry of estimators, loaded. @param asked - whether the plan needs it; else it is empty */
  protected async estimators(asked: boolean): Promise<EstimatorFacts> {
    if (!asked) return {}
    const {loadEstimators} = await import('../../attention/names.js')
    return loadEstimators()
  }

  /**
   * The plan of the run to go on with, where `--output DIR --resume` is all that was typed of it.
   *
   * @returns `undefined` where flags say more, or no run is there
   * @throws {PLAN_MISMATCH} when it is one of another command
   */
  protected async savedPlan(flags: RunOptions): Promise<Plan | undefined> {
    const typed = this.gridFlags(flags).length > 0
    if (!flags.resume || flags.output === undefined || typed) return undefined
    const plan = await this.services.readPlan(flags.output)
    if (plan === undefined) return undefined
    if (plan.experiment !== this.id) {
      const {output} = flags
      const {experiment} = plan
      const own = commandText(['rfa', experiment, '--output', typeablePath(output), '--resume'])
      throw expected('PLAN_MISMATCH', output, `a run of ${this.id}`, `one of ${experiment}`, own)
    }
    const {threads} = flags
    const own = plan.threads === undefined || threads === undefined ? plan : {...plan, threads}
    const {withNamedPlugins} = await import('./plugins.js')
    return withNamedPlugins(own, {from: flags.output, keeper: 'run'}, this.plugins)
  }

  /** The flags that name a plan are looked for before all are parsed: names of estimators need the plug-ins. */
  protected override async recordedPlugins(): Promise<RecordedPlugins | undefined> {
    const {recordedInRun, valuesTyped} = await import('./plugins.js')
    const folder = valuesTyped(this.argv, '--output', '-o').at(-1)
    if (folder === undefined || !this.argv.includes('--resume')) return undefined
    return recordedInRun(folder, this.services)
  }

  /** The flags that were typed and say what to run, not only how; with dashes. */
  protected gridFlags(flags: RunOptions): string[] {
    const known = (this.ctor as typeof ExperimentCommand).flags as Record<
      string,
      {default?: unknown; allowNo?: boolean}
    >
    const untyped = ({default: own, allowNo}: (typeof known)[string] = {}) =>
      own ?? (allowNo ? undefined : false)
    return Object.entries(flags)
      .filter(([name]) => !HOW_TO_RUN.has(name))
      .filter(([name, value]) => value !== undefined && value !== untyped(known[name]))
      .map(([name, value]) => (value === false ? `--no-${name}` : `--${name}`))
  }

  /** Runs the plan, or only describes it under `--dry-run`, and prints the outcome. @returns what `--json` prints */
  protected async runOrDescribe(asked: Plan, typed: RunOptions): Promise<ExperimentRun | DryRun> {
    const plan = await this.withOwnPlugins(asked)
    const {refuseResumeOfNothing} = await import('./run-plan.js')
    await refuseResumeOfNothing(typed)
    const flags = await this.withSavedShard(typed)
    const {argv, ...rest} = this.invocation()
    const invocation = {...rest, argv: withShard(argv, flags.shard)}
    return flags['dry-run']
      ? this.describe(plan, flags, invocation)
      : this.compute(plan, flags, invocation)
  }

  /** A run that is a part of its plan is gone on with as that part. */
  private async withSavedShard(flags: RunOptions): Promise<RunOptions> {
    if (!flags.resume || flags.output === undefined || flags.shard) return flags
    const shard = await this.services.readShard(flags.output)
    return shard ? {...flags, shard} : flags
  }

  /** The plan with what it takes of the plug-ins that were named. */
  private async withOwnPlugins(plan: Plan): Promise<Plan> {
    const {typed, others} = this.plugins
    const plugins = [...typed, ...others]
    if (plugins.length === 0 || plan.plugins) return plan
    const {pluginWithoutEffect, withPlugins} = await import('./plugins.js')
    const marked = withPlugins(plan, plugins)
    for (const {record} of typed) this.caution(pluginWithoutEffect(record, marked))
    return marked
  }

  private async describe(plan: Plan, flags: RunOptions, invocation: Invocation): Promise<DryRun> {
    const {prepareDry} = await import('./run-plan.js')
    const {describeRun, dryRunReport} = await import('../../runner/schedule/dry-run.js')
    const {run, schedule, kept} = await prepareDry(plan, flags, invocation)
    const described = describeRun(run, schedule, kept)
    await this.printBlocks(dryRunReport(described))
    return described
  }

  private async compute(
    plan: Plan,
    flags: RunOptions,
    invocation: Invocation,
    earlier?: number,
  ): Promise<ExperimentRun> {
    const {prepare, runPrepared} = await import('./run-plan.js')
    const worker = await this.services.takeWorker(plan.experiment)
    try {
      const prepared = await prepare(plan, flags, worker, invocation)
      const begun = earlier ?? performance.now()
      const {run, closing, fault} = await runPrepared({...prepared, begun}, flags, invocation)
      const {experiment} = prepared.run
      const larger = fault ? undefined : await experiment.enlarged?.(plan, run.records)
      if (larger && run.directory !== null) {
        const goOn = {...flags, output: run.directory, resume: true}
        return await this.compute(larger, goOn, invocation, begun)
      }
      const shown = await this.withColumns(experiment, run, flags)
      await this.printRun(experiment, run, shown)
      const nothing = nothingMeasured(plan, run.records)
      this.caution(nothing)
      for (const line of closing) this.note(line)
      await this.writeFiles(run, shown)
      if (run.counts.failed > 0 || nothing) process.exitCode = EXIT_CELLS_FAILED
      if (fault) this.complain(fault)
      return run
    } finally {
      await worker.kill()
    }
  }

  /**
   * The flags as they were typed where the run has the tables of `--columns`. It is over: else there is a warning, all tables
   * are printed, and no file of tables is written.
   */
  protected async withColumns(
    experiment: Experiment,
    {directory, manifest, records}: ExperimentRun,
    flags: RunOptions,
  ): Promise<RunOptions> {
    if (!flags.columns) return flags
    try {
      chosenTables(await printedReport(experiment, records, true), flags)
      return flags
    } catch (error) {
      if (!(error instanceof RfaError)) throw error
      const report = ['rfa', 'report', typeablePath(directory ?? 'RUN'), '--columns', 'NAME,NAME']
      const later = `the tables can still be written: ${commandText(report)}`
      this.caution([error.message, ...error.suggestions, later].join('; '))
      const tables = {columns: undefined, pivot: undefined}
      const unwritten = {markdown: undefined, tex: undefined, csv: undefined}
      return {...flags, ...tables, ...unwritten, details: flags.details || !manifest.shard}
    }
  }

  protected async printRun(
    experiment: Experiment,
    run: ExperimentRun,
    flags: RunOptions,
  ): Promise<void> {
    const report = await this.printedBlocks(experiment, run, flags)
    const {blocks, draw} = await this.withPlot(report, experiment, run, flags)
    if (blocks.length > 0) await this.printBlocks(this.withFlags(blocks), draw)
  }

  /** What is printed of a run; of a shard, which has a part of the answer, only with `--details`. */
  protected async printedBlocks(
    experiment: Experiment,
    {manifest, records}: ExperimentRun,
    {details, columns, pivot}: RunOptions,
  ): Promise<readonly Block[]> {
    if (manifest.shard && !details) return []
    if (!columns) return printedReport(experiment, records, details)
    return chosenTables(await printedReport(experiment, records, true), {columns, pivot})
  }

  /** The page, figures and tables of a run that flags ask for. @param flags - {@link withColumns} */
  protected async writeFiles({directory}: ExperimentRun, flags: RunOptions): Promise<void> {
    const {columns, pivot, ...written} = reportFlags
    const names = Object.keys(written) as (keyof typeof written)[]
    if (directory === null || names.every(name => flags[name] === undefined)) return
    const {placesOf, writeReportFiles} = await import('../report/report-files.js')
    const {readSaved, savedReport} = await import('../report/read-saved.js')
    const saved = await readSaved([directory], this.config.bin, this.services)
    const reported = async (details: boolean) =>
      this.withFlags(await savedReport(saved, {figures: details, details}))
    const blocks = await reported(true)
    const text = flags.columns && chosenTables(blocks, flags)
    const report = {
      blocks,
      tables: text ?? (flags.details ? blocks : await reported(false)),
      text,
      saved,
    }
    const places = {...flags, output: flags.markdown, open: false, force: undefined}
    const maker = {...this.invocation(), print: (text: string) => this.print(text)}
    for (const place of placesOf(await writeReportFiles(report, places, maker))) {
      this.note(`written to ${place}`)
    }
  }

  /** A report with what tells most of the run drawn below, where that is asked for. */
  private async withPlot(
    report: readonly Block[],
    {figures}: Pick<Experiment, 'figures'>,
    {records}: ExperimentRun,
    {plot}: RunOptions,
  ): Promise<{blocks: readonly Block[]; draw?: DrawFigure}> {
    if (this.jsonEnabled()) return {blocks: report}
    const {NOTHING_TO_PLOT, plotForm, plotter} = await import('./plots.js')
    const form = plotForm(plot, process.stdout, process.env)
    if (!form) return {blocks: report}
    const [figure] = (await figures?.(records)) ?? []
    if (!figure) {
      this.caution(NOTHING_TO_PLOT)
      return {blocks: report}
    }
    const draw = await plotter(this.layout(), form)
    return {blocks: [...report, {kind: 'figure', figure}], draw}
  }
}
