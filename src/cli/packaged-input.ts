import {isAbsolute, join, relative} from 'node:path'
import {PACKAGED_CAUSAL_INPUT, PACKAGED_INPUT} from '../inputs/packaged.js'
import {packageRoot} from '../package.js'

export {PACKAGED_CAUSAL_INPUT, PACKAGED_INPUT}

/**
 * Path of {@link PACKAGED_INPUT}, or of {@link PACKAGED_CAUSAL_INPUT}, relative to `from` where it lies below it, so that
 * a plan made in a checkout is the same on every machine.
 *
 * @param causal - whether attention is to be causal
 * @param from - default: the working directory
 */
export function packagedInput(causal: boolean, from = process.cwd()): string {
  const path = join(packageRoot(), causal ? PACKAGED_CAUSAL_INPUT : PACKAGED_INPUT)
  const short = relative(from, path)
  return short.startsWith('..') || isAbsolute(short) ? path : short
}
