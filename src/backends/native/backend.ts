/** Registers `native` with TensorFlow.js: the CPU backend with its hot kernels replaced and fused ones added. */
import {tf} from '../../tf.js'
import type {Addon} from './addon.js'
import {guardedKernel, toConfigs} from './kernel.js'
import {NATIVE_KERNELS} from './kernels/index.js'
import {NativeBackend} from './storage.js'

export const BACKEND = 'native'

let registered = false

/** Registers backend and kernels, once. */
export function registerNativeBackend(addon: Addon): void {
  if (registered) return
  registered = true
  const ofCpu = (name: string) => tf.getKernel(name, 'cpu') ?? undefined
  const own = toConfigs(NATIVE_KERNELS, BACKEND, ofCpu)
  const replaced = new Set(own.map(({kernelName}) => kernelName))
  // tensors are stored as the CPU backend stores them, so its kernels run on them as they are
  for (const config of tf.getKernelsForBackend('cpu')) {
    if (replaced.has(config.kernelName)) continue
    tf.registerKernel({
      ...config,
      backendName: BACKEND,
      kernelFunc: guardedKernel(config.kernelFunc, config.kernelName),
    })
  }
  for (const config of own) tf.registerKernel(config)
  tf.registerBackend(BACKEND, () => new NativeBackend(addon))
}
