/**
 * A figure of a paper drawn anew: its runs are ordinary plans, and its points are made of their records, or of closed
 * forms. The number that the paper prints for a point stands with it.
 */
import {z} from 'zod'
import {nullableNumber} from '../../results/record.js'
import {finiteOrNull} from '../../stats/index.js'
import type {ClaimPlan, PlanRequest} from '../claim.js'
import type {ClaimRuns} from '../runs.js'

/** A figure before anything is run. */
export const figureFacts = z.object({
  id: z.string().describe('The figure.'),
  title: z.string().describe('What it shows, in one line.'),
  source: z.string().describe('The paper, and the number of the figure where it is known.'),
  paper: z.string().describe('What the paper shows, in which setting.'),
  ours: z.string().describe('Our setting, and how it differs.'),
  x: z.string().describe('What x of points is, with its unit.'),
  y: z.string().describe('What y of points is, with its unit.'),
})
export type FigureFacts = z.infer<typeof figureFacts>

/** What stands in a figure's file, as plain data. */
export function factsOf(figure: FigureFacts): FigureFacts {
  return figureFacts.parse(figure)
}

export interface Point {
  /** Name of the curve. */
  series: string
  x: number
  y: number
  /** Ends of a 95 % interval, where it was measured. */
  low?: number | null | undefined
  high?: number | null | undefined
  /** What the paper gives, where it prints a number. */
  quoted?: number | undefined
}

export interface Drawing {
  /** Series by series. */
  points: Point[]
  /** What is missing, and why. */
  notes: string[]
}

export interface Figure extends FigureFacts {
  /** The runs by the names of their folders. */
  plans(request: PlanRequest): Record<string, ClaimPlan>
  /** @throws {Unmeasured} where records lack what it takes */
  draw(runs: ClaimRuns): Drawing
}

/** A point as it is saved: a row of the table of the figure. */
export const figurePoint = z.object({
  series: z.string().describe('Name of the curve.'),
  x: z.number().describe('Where it stands.'),
  y: nullableNumber.describe('The value; `null`: it is not finite.'),
  low: nullableNumber.describe(
    'Lower end of a 95 % interval; `null`: it was computed, or measured too few times for one.',
  ),
  high: nullableNumber.describe('Upper end of that interval.'),
  quoted: nullableNumber.describe('What the paper gives; `null`: it prints no number there.'),
})
export type FigurePoint = z.infer<typeof figurePoint>

export function savedPoints(points: readonly Point[]): FigurePoint[] {
  return points.map(({series, x, y, low, high, quoted}) => ({
    series,
    x,
    y: finiteOrNull(y),
    low: finiteOrNull(low),
    high: finiteOrNull(high),
    quoted: finiteOrNull(quoted),
  }))
}
