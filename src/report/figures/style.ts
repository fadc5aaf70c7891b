/**
 * One look for a method in every figure: colour and marker say which method, the dash which projection or exact form. Eight colours that
 * survive colour blindness, each far enough from white and from black; markers distinguish methods of one colour,
 * and all of them in print.
 */
import {METHOD_NAMES, PROJECTION_NAMES} from '../../attention/names.js'
import type {Series} from './figure.js'

export interface SeriesStyle {
  /** Place of the colour in {@link COLOURS}. */
  colour: number
  /** A symbol of Observable Plot. */
  marker: Marker
  /** Lengths of strokes and gaps; `undefined`: solid. */
  dash: string | undefined
}

/** Colours of Okabe and Ito without yellow and black, which the page has already, and grey for the exact forms. */
export const COLOURS = [
  '#6e6e6e',
  '#0072b2',
  '#d55e00',
  '#009e73',
  '#cc79a7',
  '#e69f00',
  '#56b4e9',
  '#8b5a2b',
] as const

/** The line of what is computed: a broad one that measured lines are seen on. */
export const PALE = {width: 5, opacity: 0.28} as const

/** No star: that marks what nothing beats. */
const MARKERS = ['circle', 'square', 'triangle', 'diamond', 'cross', 'wye', 'hexagon'] as const
type Marker = (typeof MARKERS)[number]

/** Those that are often in one figure come first: none of them shares a colour. */
const FIRST = ['softmax-online', 'favor-pos', 'rfa', 'elu', 'favor-trig', 'lara', 'ra', 'favor-hyp']

const ORDER: readonly string[] = [...FIRST, ...METHOD_NAMES.filter(name => !FIRST.includes(name))]

const DASHES: Readonly<Record<string, string>> = {iid: '5 3', simplex: '1 3', sobol: '8 3 1 3'}
/** Of the exact form that holds its matrix: it has the colour of the other exact form. */
const MATRIX = 'softmax'
const MATRIX_DASH = '9 3'
const OTHER_DASHES = ['3 2', '10 3', '6 2 2 2', '2 2', '12 2 2 2 2 2']

/** The look of a method with a projection; a method of a plug-in has one that depends on its name alone. */
export function styleOf(method: string, projection: string | null): SeriesStyle {
  const known = ORDER.indexOf(method)
  const place = known === -1 ? ORDER.length + codeOf(method) : known
  const round = Math.floor(place / COLOURS.length)
  return {
    colour: place % COLOURS.length,
    marker: MARKERS[(place + round) % MARKERS.length]!,
    dash: method === MATRIX ? MATRIX_DASH : dashOf(projection),
  }
}

/** The look of a series: that of its method, or of the place it was given. */
export function lookOf({method, projection, colour}: Series): SeriesStyle {
  const style = styleOf(method, projection)
  if (colour === undefined) return style
  return {...style, colour: colour % COLOURS.length, marker: MARKERS[colour % MARKERS.length]!}
}

function dashOf(projection: string | null): string | undefined {
  if (projection === null || projection === 'orth') return undefined
  const place = (PROJECTION_NAMES as readonly string[]).indexOf(projection)
  const other = place === -1 ? codeOf(projection) : place
  return DASHES[projection] ?? OTHER_DASHES[other % OTHER_DASHES.length]
}

function codeOf(name: string): number {
  return [...name].reduce((sum, letter) => (31 * sum + letter.codePointAt(0)!) % 65_521, 7)
}
