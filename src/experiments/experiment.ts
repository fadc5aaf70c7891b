/**
 * What an experiment says of itself. Plan parsing, JSON Schemas, CSV tables, reports, processes, comparability and
 * predicted time derive from it.
 */
import type {z} from 'zod'
import {expected} from '../errors.js'
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
import type {TableFormat} from '../results/tables.js'
import type {Verdict} from '../results/verdict.js'
import type {Comparison} from './comparison.js'

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
  /** Processes that it takes, where it has them to itself. Default: one. */
  readonly processes?: number | undefined
  /** What every process computes once, for all of its cells that have it in common. Default: nothing. */
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
  /** The same with predictions. @throws what reading the header of the plan's input throws */
  jobs(): Promise<PredictedCell<Cell>[]>
}

/** How a cell is computed; a result says what came of it, and its numbers do not depend on it. */
export interface CellContext {
  /** Threads to compute with, where the cell asks for no number; `undefined`: the backend's own choice. */
  threadShare?: number | undefined
  /** Processes that compute cells of the run at once, this one among them. Default: it is alone. */
  processes?: number | undefined
  /** Which of the processes of the cell this is, from 0. Default: 0. */
  process?: number | undefined
  /** Told how far the cell is. Never called while something is timed. */
  onStep?: OnStep | undefined
  /** Of a timed cell: asked for its first turn once it is ready, then lets the others compute. Default: there are no others. */
  yieldTurn?: YieldTurn | undefined
}

/** What comes after a turn: another one, behind those of others or at once; or none, as the run was interrupted. */
export type NextTurn = 'after others' | 'alone' | 'none'

/** Ends the turn of a cell and waits for its next one, so that what disturbs the machine for a while falls on all cells. */
export type YieldTurn = () => Promise<NextTurn>

/**
 * Told after a step of a cell, such as a replicate, that `done` of `total` are done. It costs a look at the clock, and
 * a message now and then.
 */
export type OnStep = (done: number, total: number) => void

/** A cell in several fresh processes: what differs from one to the next is then in its result. */
interface InProcesses<Cell = object, Result = ComputedBy> {
  /** What each of them runs. */
  of(cell: Cell): readonly Cell[]
  /** Whether two cells may have one process, which runs both at once: the same text. Default: none may. */
  shares?(cell: Cell): string | undefined
  /** One result from theirs, in that order; from those that there are where the run was interrupted. */
  join(results: readonly Result[]): Promise<Result>
}

/** A result as reports get it: of a large journal it lacks the heavy lists of its experiment. */
export type HeldResult<Result, Lists extends keyof Result> = Omit<Result, Lists> &
  Partial<Pick<Result, Lists>>

/** An experiment as everybody but itself sees it: its plans, cells and results are plain data. */
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
  /** What a plan asks for. @throws what resolving its methods throws */
  grid(plan: P): Promise<Grid<Cell>>
  /**
   * Reads once what all cells will read, and starts what they will start, so that a bad file or a program that is missing is
   * told before anything runs. Default: nothing.
   */
  check?(plan: P): Promise<void>
  /** Loads what planning and computing need. Default: that is loaded when it is needed. */
  load?(): Promise<unknown>
  /** Computes one cell in this process. */
  run(cell: Cell, context: CellContext): Promise<CellOutcome<Result>>
  /** How a cell is divided among fresh processes. Default: one computes it. */
  processes?: InProcesses<Cell, Result>
  /** Answers to what it asks. Default: it asks no question that has one. */
  verdicts?(records: readonly CellRecord<Cell, Held>[]): Promise<Verdict[]>
  /** What records say together, as data. Default: nothing. */
  findings?(records: readonly CellRecord<Cell, Held>[]): Promise<Findings>
  /** What they found, as sentences of a summary, the most telling first. Default: what verdicts state. */
  highlights?(records: readonly CellRecord<Cell, Held>[]): Promise<string[]>
  /** What of it can be drawn. Default: nothing. @param x - what errors are drawn over; default: M */
  figures?(records: readonly CellRecord<Cell, Held>[], x?: FeatureAxis): Promise<Figure[]>
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

/** An experiment whose cells and results have these schemas. */
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

/** How runs of an experiment are compared. @throws {UNSUPPORTED} where they are not */
export async function comparisonOf({name, comparison}: Experiment): Promise<Comparison> {
  if (comparison) return comparison()
  throw expected('UNSUPPORTED', `compare, runs of ${name}`, 'a run with times or errors', 'none')
}
