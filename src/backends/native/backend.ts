/** Registers `native` with TensorFlow.js: the CPU backend with its hot kernels replaced and fused ones added. */
import '@tensorflow/tfjs-backend-cpu'
import {
  copyRegisteredKernels,
  getKernel,
  registerBackend,
  registerKernel,
  unregisterKernel,
} from '@tensorflow/tfjs-core'
import type {Addon} from './addon.js'
import {toConfigs} from './kernel.js'
import {NATIVE_KERNELS} from './kernels/index.js'
import {NativeBackend} from './storage.js'

export const BACKEND = 'native'

let registered = false

/** Registers backend and kernels, once. */
export function registerNativeBackend(addon: Addon): void {
  if (registered) return
  registered = true
  copyRegisteredKernels('cpu', BACKEND)
  const ofCpu = (name: string) => getKernel(name, 'cpu') ?? undefined
  for (const config of toConfigs(NATIVE_KERNELS, BACKEND, ofCpu)) {
    if (getKernel(config.kernelName, BACKEND)) unregisterKernel(config.kernelName, BACKEND)
    registerKernel(config)
  }
  registerBackend(BACKEND, () => new NativeBackend(addon))
}
