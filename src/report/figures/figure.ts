/** What a figure shows, before anyone knows whether it is drawn in a page, a file or a terminal. */
import {type TableBlock, tableWithTexts} from '../table.js'

/** An axis. Logarithmic ones leave out what is not above zero. */
export interface Axis {
  /** With its unit. */
  label: string
  scale: 'log' | 'linear'
  /** What stands at 0, 1, 2, ... of a linear axis, instead of numbers: of y from top to bottom. */
  names?: readonly string[]
  /** Whether its numbers are printed in per cent: 0.5 as `50 %`. Default: as they are. */
  percent?: boolean
  /** Of y: the axis ends here, and larger values are printed above it. Default: the axis shows everything. */
  limit?: number
}

/** A measured or computed value, with its interval where there is one. */
export interface Point {
  x: number
  y: number
  low?: number | null
  high?: number | null
  /** Ends of an interval of x. */
  xLow?: number | null
  xHigh?: number | null
  /** Of a tile: what its shade says. */
  value?: number
  /** What it is, a line each: `M = 64`, `rel L2 0.0087 [0.0081, 0.0103]`. */
  facts: readonly string[]
}

/** Points of one variant, in the order of x. */
export interface Series {
  label: string
  /** What else is said of it, such as its exponent. Default: nothing. */
  note?: string
  /** Decides on colour and marker, in all figures alike. */
  method: string
  /** Decides on the dash; `null`: solid. */
  projection: string | null
  points: readonly Point[]
  /** Whether a line goes through them. Default: it does. */
  joined?: boolean
  /** Whether it is computed instead of measured: a broad pale line without markers. Default: measured. */
  computed?: boolean
  /** Places where its line passes another one, drawn as rings. Default: none. */
  crossings?: readonly Point[]
  /** Place of its colour and marker, where lines of one method differ. Default: those of the method. */
  colour?: number
  /** Whether its markers are open: a second series of that method and projection. Default: filled. */
  open?: boolean
}

/** A line that is there for comparison: a slope, a level, a claim. */
export interface Guide {
  label: string
  /** Two or more `[x, y]`. */
  points: readonly (readonly [number, number])[]
}

/** A figure of lines over one variable, of points between two axes, or of tiles. */
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
  /** What the pale lines of computed series are, said once for all of them. Default: `predicted`. */
  computed?: string
  /** Points are tiles of a table of names, whose shades say this. Default: they are points. */
  shade?: Pick<Axis, 'label' | 'scale' | 'percent'>
  /** Its points as a table. */
  table: TableBlock
  /** The run that it is of: its name, version and seed. */
  run?: string
  /** Command that makes it again, where one is known. */
  command?: string | undefined
}

/** What errors are drawn over: the number of random vectors, or the length of the feature vector. */
export const FEATURE_AXES = ['M', 'F'] as const
export type FeatureAxis = (typeof FEATURE_AXES)[number]

export function isShown({scale}: Axis, value: number): boolean {
  return Number.isFinite(value) && (scale === 'linear' || value > 0)
}

/** Whether a value of y lies beyond the end of its axis. */
export function isBeyond({limit = Number.POSITIVE_INFINITY}: Axis, value: number): boolean {
  return value > limit
}

/** All that an axis of a figure shows: points, ends of intervals and guides; of what lies beyond its end, that end. */
export function shownValues(figure: Figure, of: 'x' | 'y'): number[] {
  const {limit = Number.POSITIVE_INFINITY} = figure[of]
  const points = figure.series.flatMap(own => [...own.points, ...(own.crossings ?? [])])
  const ends = points.flatMap(({low, high, xLow, xHigh}) =>
    of === 'y' ? [low, high] : [xLow, xHigh],
  )
  const lines = figure.guides.flatMap(guide => guide.points.map(([x, y]) => (of === 'x' ? x : y)))
  return [...points.map(point => point[of]), ...lines, ...ends].flatMap(value =>
    typeof value === 'number' && isShown(figure[of], value) ? [Math.min(value, limit)] : [],
  )
}

export function isUpright({points}: Pick<Guide, 'points'>): boolean {
  const [last, before] = [points.at(-1)!, points.at(-2)!]
  return last[0] === before[0]
}

/** What points of measured lines show: marks between them and guides stand where they stand. */
export function joinedValues(figure: Figure, of: 'x' | 'y'): number[] {
  const lines = figure.series.filter(({joined = true}) => joined)
  const values = lines.flatMap(({points}) => points.map(point => point[of]))
  return values.filter(value => isShown(figure[of], value))
}

/**
 * The same figure with what its axes can show: points off them, and ends of intervals below zero, are left out.
 *
 * @returns `undefined` where no point is left: there is nothing to draw
 */
export function drawable(figure: Figure): Figure | undefined {
  const {x, y} = figure
  const isOn = (point: Point) => isShown(x, point.x) && isShown(y, point.y)
  const series = figure.series.flatMap(({crossings, ...own}) => {
    const points = own.points.filter(isOn)
    const rings = crossings?.filter(isOn) ?? []
    return points.length > 0 ? [{...own, points, ...(rings.length > 0 && {crossings: rings})}] : []
  })
  if (series.length === 0) return undefined
  const guides = figure.guides.filter(({points}) =>
    points.every(([at, value]) => isShown(x, at) && isShown(y, value)),
  )
  return {...figure, series, guides}
}

/** The same figure with every text in it changed, but for its name. */
export function figureWithTexts(figure: Figure, change: (content: string) => string): Figure {
  const {x, y, series, guides, shade, computed, run, command} = figure
  const pointWithTexts = (point: Point) => ({...point, facts: point.facts.map(change)})
  return {
    ...figure,
    title: change(figure.title),
    caption: change(figure.caption),
    x: axisWithTexts(x, change),
    y: axisWithTexts(y, change),
    ...(shade && {shade: {...shade, label: change(shade.label)}}),
    ...(computed !== undefined && {computed: change(computed)}),
    series: series.map(({label, note, points, crossings, ...rest}) => ({
      ...rest,
      label: change(label),
      ...(note !== undefined && {note: change(note)}),
      points: points.map(pointWithTexts),
      ...(crossings && {crossings: crossings.map(pointWithTexts)}),
    })),
    guides: guides.map(({label, points}) => ({label: change(label), points})),
    table: tableWithTexts(figure.table, change),
    ...(run !== undefined && {run: change(run)}),
    command: command && change(command),
  }
}

function axisWithTexts({label, names, ...axis}: Axis, change: (content: string) => string): Axis {
  return {...axis, label: change(label), ...(names && {names: names.map(change)})}
}

/** A series in full: its label and its note. */
export function seriesText({label, note}: Series): string {
  return note === undefined ? label : `${label}, ${note}`
}

export const FIGURE_FORMATS = ['svg', 'pdf', 'png'] as const
export type FigureFormat = (typeof FIGURE_FORMATS)[number]

/** Widths of columns in papers, in CSS pixels (96 to the inch): one column 3.5 inches, both 7.2. */
export const WIDTHS = {column: 336, page: 691} as const
export type FigureWidth = keyof typeof WIDTHS
