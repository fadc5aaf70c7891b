import {benchFlags} from './bench.js'
import {errorSweepFlags} from './error-sweep.js'
import {swapFlags} from './swap.js'
import {varianceFlags} from './variance.js'

export function experimentFlagNames(): string[] {
  return Object.keys({...benchFlags, ...errorSweepFlags, ...varianceFlags, ...swapFlags})
}
