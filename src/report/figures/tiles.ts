/** Tiles of a figure between names: a number each, which their shades say as well. */
import * as Plot from '@observablehq/plot'
import {type Figure, isShown, type Point, type Series} from './figure.js'
import {valueOn} from './ticks.js'

/** Share of the scale from which on tiles are so dark that numbers on them are white. */
const DARK = 0.5

/** Rectangles and the numbers on them. */
export function tileMarks(
  {points, label}: Series,
  place: number,
  {figure: {shade, series}, fontSize}: {figure: Figure; fontSize: number},
) {
  const axis = shade!
  const shadeOf = ({value = Number.NaN}: Point) => (isShown(axis, value) ? value : null)
  const values = series.flatMap(own => own.points.map(shadeOf)).filter(value => value !== null)
  const at = (value: number) => (shade!.scale === 'log' ? Math.log(value) : value)
  const [low, high] = [at(Math.min(...values)), at(Math.max(...values))]
  const isDark = (point: Point) =>
    (at(shadeOf(point) ?? Number.NaN) - low) / (high - low || 1) > DARK
  const className = `series series-${place}`
  const facts = ({facts: own}: Point) => [label, ...own].filter(text => text !== '')
  return [
    Plot.rect(points, {
      ...{x1: ({x}: Point) => x - 0.5, x2: ({x}: Point) => x + 0.5},
      ...{y1: ({y}: Point) => y - 0.5, y2: ({y}: Point) => y + 0.5, inset: 0.5},
      ...{fill: shadeOf, className},
      ariaLabel: (point: Point) => facts(point).join(', '),
      title: (point: Point) => facts(point).join('\n'),
    }),
    Plot.text(points, {
      ...{
        x: 'x',
        y: 'y',
        text: (point: Point) => (shadeOf(point) === null ? '' : valueOn(axis, point.value!)),
        fontSize: fontSize * 0.85,
      },
      ...{
        fill: {value: (point: Point) => (isDark(point) ? '#ffffff' : '#111111'), scale: null},
        className,
      },
    }),
  ]
}
