/** A figure as a table: a line for each place on the x axis, a column for each curve. */
import {
  type Block,
  heading,
  list,
  type TableBlock,
  type TableColumn,
  text,
} from '../../report/document.js'
import {MISSING, significant, withReach} from '../../report/numbers.js'
import type {FigureFacts, FigurePoint} from './figure.js'

/** What is saved of a figure, as far as its report goes. */
export interface DrawnFigure extends FigureFacts {
  points: readonly FigurePoint[]
  notes: readonly string[]
}

/** What it shows, in the paper and here. @param title - of the report, default: the figure's id */
export function figureFacts(figure: FigureFacts, title = `Figure ${figure.id}`): Block[] {
  return [
    heading(1, title),
    text(`${figure.title}.`),
    ...list([`the paper: ${figure.paper} (${figure.source})`, `here: ${figure.ours}`]),
  ]
}

/** Facts, table and notes. @param title - of the report, default: the figure's id */
export function figureReport(drawn: DrawnFigure, title = `Figure ${drawn.id}`): Block[] {
  const {points, notes} = drawn
  return [
    ...figureFacts(drawn, title),
    ...(points.length > 0 ? [curvesTable(drawn)] : []),
    ...list([`values: ${drawn.y}`, ...marks(points), ...notes]),
  ]
}

/** What stands next to values. */
function marks(points: readonly FigurePoint[]): string[] {
  return [
    ...(points.some(({low}) => low !== null) ? ['± and [ ]: 95 % intervals'] : []),
    ...(points.some(({quoted}) => quoted !== null) ? ['in brackets: what the paper gives'] : []),
  ]
}

function curvesTable({x, points}: DrawnFigure): TableBlock {
  const series = [...new Set(points.map(point => point.series))]
  const places = [...new Set(points.map(point => point.x))].sort((a, b) => a - b)
  const cell = (name: string, place: number) =>
    valueText(points.find(point => point.series === name && point.x === place))
  return {
    kind: 'table',
    everything: true,
    columns: [column(x, 'right'), ...series.map(name => column(name, 'right'))],
    rows: places.map(place => [String(place), ...series.map(name => cell(name, place))]),
    turned: {
      kind: 'table',
      everything: true,
      columns: [column(x, 'left'), ...places.map(place => column(String(place), 'right'))],
      rows: series.map(name => [name, ...places.map(place => cell(name, place))]),
    },
  }
}

/** A column under a title that breaks at its commas. */
function column(title: string, align: TableColumn['align']): TableColumn {
  return {title: title.replaceAll(', ', ',\n'), align, priority: 0, flexible: false}
}

/** `0.0123 ±8% (0.012)`: the value, its interval and what the paper gives. */
function valueText(point: FigurePoint | undefined): string {
  if (!point) return MISSING
  const {y, low, high, quoted} = point
  const known = y !== null && low !== null && high !== null
  const shown = known ? withReach({value: y, low, high}, significant) : significant(y)
  return quoted === null ? shown : `${shown} (${significant(quoted)})`
}
