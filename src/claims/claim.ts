/**
 * A sentence of a paper as an experiment. What is measured and what would decide it stand in the claim's file, fixed
 * before anything is run; runs are ordinary plans, and their records are all that a verdict sees.
 */
import type {BenchPlan} from '../experiments/bench/schema.js'
import type {ErrorSweepPlan} from '../experiments/error-sweep/schema.js'
import type {SwapPlan} from '../experiments/swap/schema.js'
import type {TrainPlan} from '../experiments/train/schema.js'
import type {TunePlan} from '../experiments/tune/schema.js'
import type {VariancePlan} from '../experiments/variance/schema.js'
import type {exportLayers} from '../export/export.js'
import type {ClaimRuns} from './runs.js'

/** How much is spent on all claims together. */
export const EFFORTS = ['quick', 'full'] as const
type Effort = (typeof EFFORTS)[number]

/**
 * - `holds`: the statistic says so, beyond chance
 * - `refuted`: it says the opposite, beyond chance
 * - `depends`: it holds under one condition that was tried and not under another; the statement names both
 * - `inconclusive`: these records do not settle it, others may: {@link OPEN_REASONS} says why
 * - `not_measurable`: it takes training, hardware or a fused kernel that is not there; the statement says which
 */
export const VERDICTS = ['holds', 'refuted', 'depends', 'inconclusive', 'not_measurable'] as const
export type ClaimVerdict = (typeof VERDICTS)[number]

/**
 * Why a claim is inconclusive:
 *
 * - `busy`: times of turns, or of processes, lie far apart
 * - `times`: times are too few, spread too much or are too near the limit, on a machine that was not busy
 * - `draws`: there are too few
 * - `cells`: cells of its runs failed
 */
export const OPEN_REASONS = ['busy', 'times', 'draws', 'cells'] as const
export type OpenReason = (typeof OPEN_REASONS)[number]

/** What is claimed, and where. */
interface ClaimFacts {
  /** `H6` */
  id: string
  /** In one sentence, in our words. */
  sentence: string
  /** Paper, and the section, theorem or figure. */
  source: string
  /** The setting of the paper, and the numbers it gives. */
  paper: string
}

export type ClaimPlan = VariancePlan | ErrorSweepPlan | BenchPlan | SwapPlan | TunePlan | TrainPlan

/** How plans of a claim are made. */
export interface PlanRequest {
  effort: Effort
  seed: number
  /** Folder of all-MiniLM-L6-v2; `null`: it is not installed. Default: not looked for */
  minilm?: () => Promise<string | null>
}

/** How plans are made that follow from other runs. */
export interface FollowRequest extends PlanRequest {
  /** Folder of all runs: files that plans read may be written below it. */
  directory: string
  exportLayers: typeof exportLayers
}

/** A claim that is measured or computed here. */
export interface TestedClaim extends ClaimFacts {
  kind: 'tested'
  /** Our setting, and how it differs from the paper's. */
  ours: string
  /** What is computed of the records. */
  statistic: string
  /** Which values of it make which verdict. */
  rule: string
  /** Minutes of two processors, where models are trained: it is judged only where that is asked for. Default: none are */
  trainingMinutes?: number
  /**
   * The runs by the names of their folders, if theory alone does not decide. Claims that name the same run have the
   * same plan, which is run once.
   */
  plans(request: PlanRequest): Record<string, ClaimPlan> | Promise<Record<string, ClaimPlan>>
  /** Runs that read what runs before them found: those that are next. Default: none */
  following?(runs: ClaimRuns, request: FollowRequest): Promise<Record<string, ClaimPlan>>
  /** @throws {Unmeasured} where records lack what it takes */
  judge(runs: ClaimRuns): Judgement | Promise<Judgement>
}

/** A claim about trained models: what the papers say, and why nothing here can decide it. */
export interface QuotedClaim extends ClaimFacts {
  kind: 'quoted'
  /** What it would take. */
  needs: string
}

export type Claim = TestedClaim | QuotedClaim

/** A claim where no model is trained: one that takes training is quoted. */
export function withoutTraining(claim: Claim): Claim {
  if (claim.kind === 'quoted' || claim.trainingMinutes === undefined) return claim
  const {id, sentence, source, paper, trainingMinutes: minutes} = claim
  const needs = `small models trained for about ${minutes} minutes: rfa claims ${id} --with-training`
  return {kind: 'quoted', id, sentence, source, paper, needs}
}

/** Begins the part of a statement that is about a whole decoder: what comes before it is judged, this is not. */
export const IN_DECODER = 'for a whole decoder: '

/** A number that the verdict rests on. */
export interface Quantity {
  name: string
  value: number
  /** Ends of a 95 % interval, where it was measured. */
  low?: number | undefined
  high?: number | undefined
  /** What theory or the paper says, where it does. */
  expected?: number | undefined
}

/** A test of one null hypothesis. */
export interface Test {
  /** What is tested, in words. */
  hypothesis: string
  /** Probability of what was seen, or more, if it is true. */
  p: number
}

/** What the records say, before chance is accounted for over all claims of a run. */
export interface Judgement {
  quantities: Quantity[]
  tests: Test[]
  /** @param rejected - whether each test is, with all tests of the run at 5 % together */
  decide(rejected: readonly boolean[]): Decision
}

interface Decision {
  verdict: ClaimVerdict
  /** One line: what was found, with its numbers. */
  statement: string
  /** A paragraph: why it is so. */
  explanation: string
}
