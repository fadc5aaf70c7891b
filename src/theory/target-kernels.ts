import {arcCosine, exponential, gaussian, softmax} from './kernels.js'
import {smreg} from './sphere.js'
import type {TargetKernel} from './target-kernel.js'

/** The kernels that estimators converge to, by the names that targets and facts call them by. */
export const TARGET_KERNELS = {
  softmax,
  gaussian,
  'arc-cosine': arcCosine,
  exponential,
  smreg,
} as const satisfies Record<string, TargetKernel>

export type TargetKernelName = keyof typeof TARGET_KERNELS
