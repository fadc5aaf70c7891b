/** What a figure shows, before anyone knows whether it is drawn in a page, a file or a terminal. */
import {type TableBlock, tableWithTexts} from '../table.js'

/** An axis. Logarithmic ones leave out what is not above zero. */
export interface Axis {
  /** With its unit. */
  label: string
  scale: 'log' | 'linear'
}

/** A measured or computed value, with its interval where there is one. */
export interface Point {
  x: number
  y: number
  low?: number | null
  high?: number | null
  /** Ends of an interval along x. */
  xLow?: number | null
  xHigh?: number | null
  /** What it is, a line each: `M = 64`, `rel L2 0.0087 [0.0081, 0.0103]`. */
  facts: readonly string[]
}

/** Points of one variant, in the order of x; they are joined. */
export interface Series {
  label: string
  /** Decides on colour and marker, in all figures alike. */
  method: string
  /** Decides on the dash; `null`: solid. */
  projection: string | null
  points: readonly Point[]
  /** Whether it is predicted instead of measured: thin and pale, its markers hollow. Default: measured. */
  computed?: boolean
  /** Whether there is a line through its points; without one markers are hollow and large. Default: there is. */
  joined?: boolean
  /** Whether its markers are open: a second series of that method and projection. Default: filled. */
  open?: boolean
}

/** A line that is there for comparison: a slope, a level, a claim. */
export interface Guide {
  label: string
  /** Where its label stands: above its end, or below its beginning. Default: above. */
  side?: 'above' | 'below'
  /** Two or more `[x, y]`. */
  points: readonly (readonly [number, number])[]
}

/** A figure of lines over one variable. */
export interface Figure {
  /** Of its file, without extension: small letters, digits and hyphens; unique in a report. */
  name: string
  title: string
  /** One or two sentences: what is shown, of what, and what intervals are. */
  caption: string
  x: Axis
  y: Axis
  series: readonly Series[]
  guides: readonly Guide[]
  /** Its points as a table. */
  table: TableBlock
  /** Command that makes it again, where one is known. */
  command?: string | undefined
}

/** Whether an axis can show a number. */
export function isShown({scale}: Axis, value: number): boolean {
  return Number.isFinite(value) && (scale === 'linear' || value > 0)
}

/** All that an axis of a figure shows: points, ends of intervals and guides. */
export function shownValues(figure: Figure, of: 'x' | 'y'): number[] {
  const points = figure.series.flatMap(own => own.points)
  const ends = points.flatMap(({low, high, xLow, xHigh}) =>
    of === 'y' ? [low, high] : [xLow, xHigh],
  )
  const lines = figure.guides.flatMap(guide => guide.points.map(([x, y]) => (of === 'x' ? x : y)))
  return [...points.map(point => point[of]), ...lines, ...ends].filter(
    value => typeof value === 'number' && isShown(figure[of], value),
  ) as number[]
}

/** Values of points on lines, which decide on the base of ticks: those of single points are none that were chosen. */
export function joinedValues(figure: Figure, of: 'x' | 'y'): number[] {
  const joined = figure.series.filter(own => own.joined !== false)
  const shown = joined.length > 0 ? joined : figure.series
  const values = shown.flatMap(({points}) => points.map(point => point[of]))
  return values.filter(value => isShown(figure[of], value))
}

/**
 * The same figure with what its axes can show: points off them, and ends of intervals below zero, are left out.
 *
 * @returns `undefined` where no point is left: there is nothing to draw
 */
export function drawable(figure: Figure): Figure | undefined {
  const {x, y} = figure
  const series = figure.series.flatMap(own => {
    const points = own.points.filter(point => isShown(x, point.x) && isShown(y, point.y))
    return points.length > 0 ? [{...own, points}] : []
  })
  if (series.length === 0) return undefined
  const guides = figure.guides.filter(({points}) =>
    points.every(([at, value]) => isShown(x, at) && isShown(y, value)),
  )
  return {...figure, series, guides}
}

/** The same figure with every text in it changed, but for its name. */
export function figureWithTexts(figure: Figure, change: (content: string) => string): Figure {
  const {x, y, series, guides, command} = figure
  return {
    ...figure,
    title: change(figure.title),
    caption: change(figure.caption),
    x: {...x, label: change(x.label)},
    y: {...y, label: change(y.label)},
    series: series.map(({label, points, ...rest}) => ({
      ...rest,
      label: change(label),
      points: points.map(point => ({...point, facts: point.facts.map(change)})),
    })),
    guides: guides.map(({label, ...rest}) => ({label: change(label), ...rest})),
    table: tableWithTexts(figure.table, change),
    command: command && change(command),
  }
}
