import {benchFlags} from './bench.js'
import {errorSweepFlags} from './error-sweep.js'
import {swapFlags} from './swap.js'
import {varianceFlags} from './variance.js'

/** Flags of all commands that run experiments, without dashes: what messages of their cells speak of. */
export function experimentFlagNames(): string[] {
  return Object.keys({...benchFlags, ...errorSweepFlags, ...varianceFlags, ...swapFlags})
}
