/**
 * The description of an experiment. Plan parsing, JSON Schemas, CSV tables, reports, processes, comparability and
 * predicted time derive from it.
 */
import type {z} from 'zod'
import type {Block} from '../report/document.js'
import type {FeatureAxis, Figure} from '../report/figures/figure.js'
import type {Findings} from '../results/findings.js'
import {
  type CellRecord,
  type Completed,
  type ComputedBy,
  type Plan,
  type PlanSchema,
  recordSchema,
  type StoredExperiment,
} from '../results/record.js'
import type {TableFormat} from '../results/tables/tables.js'
import type {Verdict} from '../results/verdict.js'
import type {Comparison} from './comparison.js'
import type {MeasuredError, MeasuredTime} from './measured.js'

/** How a cell ended, before it becomes a record. Errors are thrown instead. */
export type CellOutcome<Result = ComputedBy> =
  | {status: 'completed'; result: Result}
  | {status: 'skipped'; reason: string}

/** A cell with what the runner needs to know of it beforehand. */
export interface PredictedCell<Cell = object> {
  readonly cell: Cell
  /** What progress shows while it runs. */
  readonly label: string
  /** Floating-point operations, without what it shares: the weight in the estimate of the time left. */
  readonly predictedCost: number
  /** Peak resident bytes of its process. */
  readonly predictedBytes: number
  /** What of these a process has once for all cells that share it ({@link InProcesses.sharingKey}). Default: 0 */
  readonly commonBytes?: number | undefined
  /** Processes that it takes, where it has them to itself. Default: one. */
  readonly processes?: number | undefined
  /** Cells of one group follow each other in a process, so that others need not compute what these share. Default: no group */
  readonly group?: string | undefined
  /** What every process computes once for all of its cells that share it. Default: nothing. */
  readonly shared?: readonly SharedCost[] | undefined
}

/** What cells have in common, and what it costs. */
export interface SharedCost {
  readonly id: string
  readonly cost: number
}

/** The cells of a plan, counted before any is made. */
export interface Grid<Cell = object> {
  /** How many there are, by the axes. */
  count: number
  /** In the order in which they run, each once. Reads no input. */
  cells(): Cell[]
  /** The same with predictions. */
  jobs(): Promise<PredictedCell<Cell>[]>
}

/** How a cell is computed. The result records it, and the numbers do not depend on it. */
export interface CellContext {
  /** Threads to compute with, if the cell asks for no number; `undefined`: the backend's choice. */
  threadShare?: number | undefined
  /** Processes that compute cells of the run at once, this one among them. Default: it is alone. */
  processes?: number | undefined
  /** Which of the processes of the cell this is, from 0. Default: 0. */
  process?: number | undefined
  /** What this process does of a cell that several share: it tries it, or it is one of those that follow. Default: all of it. */
  part?: 'trial' | 'rest' | undefined
  /** Called with the progress of the cell, never while something is timed. */
  onStep?: OnStep | undefined
  /** File in which a cell of minutes keeps how far it is, to go on from there when it is run again. Default: it starts anew. */
  checkpoint?: string | undefined
  /** Of a timed cell: asked for its first turn once it is ready, then lets the others compute. Default: there are no others. */
  yieldTurn?: YieldTurn | undefined
}

/** What comes after a turn: another one, after others or at once; or none, if the run was interrupted. */
export type NextTurn = 'after others' | 'alone' | 'none'

/** Ends the turn of a cell and waits for its next one, so that a disturbance of the machine affects all cells. */
export type YieldTurn = () => Promise<NextTurn>

/**
 * Called after a step of a cell, such as a replicate, with the steps done and their total. Costs a look at the
 * clock, and a message now and then.
 *
 * @param ns - of a timed cell: what its fastest call has taken so far
 */
export type OnStep = (done: number, total: number, ns?: number) => void

/** A timed cell on its way, with what its fastest call has taken so far. */
export interface TimedSoFar<Cell = object> {
  cell: Cell
  ns: number
}

/** A cell in several fresh processes: what differs from one to the next is then in its result. */
interface InProcesses<Cell = object, Result = ComputedBy> {
  /** What each of them runs. */
  split(cell: Cell): readonly Cell[]
  /**
   * What is run before all else: a wrong output, a crash or a want of memory is then found where it costs no other cell anything.
   * Default: nothing.
   */
  trial?(cell: Cell): Trial<Cell> | undefined
  /** Cells with the same key share a process and run interleaved. Default: no sharing. */
  sharingKey?(cell: Cell): string | undefined
  /** One result from theirs, in that order; from the available ones if the run was interrupted. */
  merge(results: readonly Result[], trial: Result | undefined): Promise<Result>
}

export interface Trial<Cell> {
  cell: Cell
  /** Trials with the same key have one process, one after the other, those of the smallest memory first. */
  key: string
}

/** A result as reports get it: without the heavy lists of its experiment if the journal is large. */
export type HeldResult<Result, Lists extends keyof Result> = Omit<Result, Lists> &
  Partial<Pick<Result, Lists>>

/** An experiment as other code sees it: its plans, cells and results are plain data. */
export interface Experiment<
  P extends Plan = Plan,
  Cell extends object = object,
  Result extends ComputedBy = ComputedBy,
  Held extends ComputedBy = Result,
> extends StoredExperiment {
  name: P['experiment']
  /** As in "Plan of ..." and "One cell of ...". */
  title: string
  /** Everything that determines it. */
  plan: PlanSchema<P>
  record: z.ZodType<CellRecord<Cell, Result>>
  /** Columns and rows of its CSV files. */
  tables: readonly TableFormat[]
  /** What a plan asks for. */
  grid(plan: P): Promise<Grid<Cell>>
  /**
   * Reads once what all cells will read, and starts what they will start, so that a bad file or a missing program
   * is reported before anything runs. Default: nothing.
   */
  check?(plan: P): Promise<void>
  /** Loads what planning and computing need. Default: that is loaded when it is needed. */
  load?(): Promise<unknown>
  /** Computes one cell in this process. */
  run(cell: Cell, context: CellContext): Promise<CellOutcome<Result>>
  /** How a cell is divided among fresh processes. Default: one computes it. */
  processes?: InProcesses<Cell, Result>
  /** What progress says of a timed cell next to the others. Default: nothing. */
  soFar?(own: TimedSoFar<Cell>, all: readonly TimedSoFar<Cell>[]): string | undefined
  /**
   * Cells send what they have when the run is interrupted, if they call {@link CellContext.yieldTurn} now and then. Default: only those
   * with a process of their own do.
   */
  keepsParts?: boolean
  /** Cells share nothing, and the longest run first, so that processes end together. Default: in the order of the plan. */
  longestFirst?: boolean
  /** Cells may take minutes, and keep how far they are in {@link CellContext.checkpoint}. Default: they do not. */
  keepsCheckpoints?: boolean
  /** Writes beside the folder of a run what its records hold and tables cannot. Default: nothing. */
  save?(records: readonly CellRecord<Cell, Held>[], directory: string): Promise<void>
  /** A larger plan, where this one says how well numbers are to be known and they are not. Default: a plan is all there is. */
  enlarged?(plan: P, records: readonly CellRecord<Cell, Held>[]): Promise<P | undefined>
  /** Answers to its questions. Default: it has none. */
  verdicts?(records: readonly CellRecord<Cell, Held>[]): Promise<Verdict[]>
  /** Findings from all records, as data. Default: nothing. */
  findings?(records: readonly CellRecord<Cell, Held>[]): Promise<Findings>
  /** What they found, as sentences of a summary, the most important first. Default: the statements of verdicts. */
  highlights?(records: readonly CellRecord<Cell, Held>[]): Promise<string[]>
  /** Its figures. Default: none. @param x - what errors are drawn over. Default: M */
  figures?(records: readonly CellRecord<Cell, Held>[], x?: FeatureAxis): Promise<Figure[]>
  /** Errors that it measured, to be drawn over times of another run. Default: none. */
  errors?(records: readonly CellRecord<Cell, Held>[]): Promise<MeasuredError[]>
  /** Times that it measured. Default: none. */
  times?(records: readonly CellRecord<Cell, Held>[]): Promise<MeasuredTime[]>
  /** How two of its runs, or two methods of one, are compared. Default: they are not. */
  comparison?(): Promise<Comparison<Cell, Completed<Cell, Held>>>
  /**
   * The first screen: what was measured, the answer in sentences and one small table, in at most 20 lines of 80 columns. Default:
   * the whole report.
   */
  screen?(records: readonly CellRecord<Cell, Held>[]): Promise<Block[]>
  /** All tables and lists. */
  report(records: readonly CellRecord<Cell, Held>[]): Promise<Block[]>
}

/** An experiment with cells and results of these schemas. */
type ExperimentOf<
  P extends Plan,
  CellSchema extends z.ZodObject,
  ResultSchema extends z.ZodObject,
  Lists extends keyof z.output<ResultSchema>,
> = Experiment<
  P,
  z.output<CellSchema>,
  z.output<ResultSchema> & ComputedBy,
  HeldResult<z.output<ResultSchema>, Lists> & ComputedBy
>

/** What an experiment's folder states; name, schema and record derive from it. */
export type ExperimentFacts<
  P extends Plan,
  CellSchema extends z.ZodObject,
  ResultSchema extends z.ZodObject,
  Lists extends keyof z.output<ResultSchema> = never,
> = Omit<
  ExperimentOf<P, CellSchema, ResultSchema, NoInfer<Lists>>,
  'schema' | 'record' | 'heavyLists'
> & {
  /** Of the format of its records: a field added with a default keeps it. */
  version: number
  cell: CellSchema
  result: ResultSchema
  /** See {@link StoredExperiment}. */
  heavyLists?: readonly (Lists & string)[]
}

/** What records name as their format. */
export function schemaName(experiment: string, version: number): string {
  return `rfa.${experiment}/${version}`
}

/** An experiment from the facts of its folder. */
export function defineExperiment<
  P extends Plan,
  CellSchema extends z.ZodObject,
  ResultSchema extends z.ZodObject,
  Lists extends keyof z.output<ResultSchema> = never,
>({
  version,
  cell,
  result,
  ...facts
}: ExperimentFacts<P, CellSchema, ResultSchema, Lists>): ExperimentOf<
  P,
  CellSchema,
  ResultSchema,
  Lists
> {
  const schema = schemaName(facts.name, version)
  const record = recordSchema(schema, cell, result) as unknown as z.ZodType<
    CellRecord<z.output<CellSchema>, z.output<ResultSchema> & ComputedBy>
  >
  return {...facts, schema, record}
}

/** What is printed of records. @param details - all of it, not the first screen alone */
export function printedReport(
  {screen, report}: Experiment,
  records: readonly CellRecord[],
  details: boolean,
): Promise<Block[]> {
  return screen && !details ? screen(records) : report(records)
}
