/** Scales of figures. */
import type {Axis} from './figure.js'
import {logTicks, tickText} from './ticks.js'

/** Powers of two where lengths and numbers of features are, of ten elsewhere; numbers as in tables. */
export function axisOptions(
  axis: Axis,
  values: readonly number[],
  {ticks, letters, chosen}: {ticks: number; letters: number; chosen: readonly number[]},
) {
  const common = {label: axis.label, grid: true, labelArrow: 'none', inset: 6} as const
  if (axis.names) return namesOptions(axis.names, letters)
  if (axis.scale === 'linear') return {...common, tickFormat: tickText}
  return {...common, type: 'log', ...logTicks(values, ticks, chosen), tickFormat: tickText} as const
}

/** Names at whole numbers. Options of y: the first of them stands at the top. */
function namesOptions(names: readonly string[], letters: number) {
  return {
    ...{type: 'linear' as const, label: null, grid: false},
    domain: [names.length - 0.5, -0.5],
    ticks: [...names.keys()],
    tickFormat: (at: number) => shortName(names[at]!, letters),
    tickSize: 0,
  } as const
}

/** The start and the end of a long name: names of one axis often differ in either. */
export function shortName(name: string, most: number): string {
  if (name.length <= most) return name
  const end = Math.floor((most - 1) / 3)
  return `${name.slice(0, most - 1 - end)}…${name.slice(name.length - end)}`
}
