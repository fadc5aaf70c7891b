/** The palette of figures in a terminal of 256 colours. */
import {COLOURS} from '../figures/style.js'

/** What each channel of the 6 x 6 x 6 cube of xterm can be. */
const LEVELS = [0, 95, 135, 175, 215, 255]

/** Place of the nearest colour of that cube. @param hex - as in `#0072b2` */
export function terminalColour(hex: string): number {
  const channels = [1, 3, 5].map(at => Number.parseInt(hex.slice(at, at + 2), 16))
  return channels.reduce((sum, channel) => 6 * sum + nearestLevel(channel), 0) + 16
}

function nearestLevel(channel: number): number {
  const distances = LEVELS.map(level => Math.abs(level - channel))
  return distances.indexOf(Math.min(...distances))
}

/** A text in a colour of the palette; `null`: in that of text. */
export function painted(text: string, place: number | null): string {
  if (place === null) return text
  return `\u001b[38;5;${terminalColour(COLOURS[place]!)}m${text}\u001b[39m`
}
