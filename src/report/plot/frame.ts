/** The axes around a plot. */
import type {Scale} from './scale.js'

export interface Frame {
  side: string
  /** A tick of the axis at the side. */
  tick: string
  corner: string
  line: string
  /** A tick of the axis below. */
  mark: string
}

export const FRAMES: Record<'unicode' | 'ascii', Frame> = {
  unicode: {side: '│', tick: '┤', corner: '└', line: '─', mark: '┬'},
  ascii: {side: '|', tick: '+', corner: '+', line: '-', mark: '+'},
}

/** Axes and the room for their numbers, in columns. */
export interface Axes {
  x: Scale
  y: Scale
  gutter: number
  columns: number
  frame: Frame
}

/** Columns between the numbers at the side and what is drawn: a space and the axis. */
export const AXIS_COLUMNS = 2

/** Lines of a canvas with the axes at the side and below. */
export function framed(lines: readonly string[], axes: Axes): string[] {
  const {y, gutter, frame} = axes
  const numbers = new Map(
    y.ticks.map(({at, text}) => [Math.round((1 - y.share(at)) * (lines.length - 1)), text]),
  )
  const beside = lines.map((line, row) => {
    const number = numbers.get(row)
    const axis = number === undefined ? frame.side : frame.tick
    return `${(number ?? '').padStart(gutter)} ${axis}${line}`
  })
  return [...beside, ...axisBelow(axes)]
}

/** The axis below with its ticks, and those of their numbers that do not touch. */
function axisBelow({x, gutter, columns, frame}: Axes): string[] {
  const axis = Array.from({length: columns}, () => frame.line)
  const left = gutter + AXIS_COLUMNS
  let numbers = ''
  for (const {at, text} of x.ticks) {
    const column = Math.round(x.share(at) * (columns - 1))
    axis[column] = frame.mark
    const middle = left + column - Math.floor(text.length / 2)
    const start = Math.min(middle, left + columns - text.length)
    if (numbers === '' || start > numbers.length + 1) numbers = numbers.padEnd(start) + text
  }
  return [`${' '.repeat(gutter + 1)}${frame.corner}${axis.join('')}`, numbers]
}

/** The name of the axis below, under its middle. */
export function axisName(name: string, {gutter, columns}: Axes): string {
  const left = Math.max(0, Math.floor((columns - name.length) / 2))
  return ' '.repeat(gutter + AXIS_COLUMNS + left) + name
}
