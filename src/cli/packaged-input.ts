import {isAbsolute, join, relative} from 'node:path'
import {PACKAGED_INPUT} from '../inputs/packaged.js'
import {packageRoot} from '../package.js'

export {PACKAGED_INPUT}

/**
 * Path of {@link PACKAGED_INPUT}, relative to `from` where it lies below it, so that a plan made in
 * a checkout is the same on every machine.
 *
 * @param from - default: the working directory
 */
export function packagedInput(from = process.cwd()): string {
  const path = join(packageRoot(), PACKAGED_INPUT)
  const short = relative(from, path)
  return short.startsWith('..') || isAbsolute(short) ? path : short
}
