/** Backends that run here. */
import {type BackendName, probeBackends} from '../../src/backends/index.js'
import {FULL, sample} from './effort.js'

const reports = await probeBackends()
const runnable = reports.filter(({available}) => available).map(({name}) => name as BackendName)

/** Names of the backends that can be tested on this machine; the others are told by `rfa doctor`. */
export async function runnableBackends(): Promise<BackendName[]> {
  return runnable
}

/** Which one a quick run tries every case on. */
const THOROUGH = runnable.includes('native') ? 'native' : 'wasm'

/** Cases of a long matrix: a quick run takes all of them on one backend, every eighth on each of the others. */
export function casesOn<T>(backend: BackendName, all: readonly T[]): readonly T[] {
  return backend === THOROUGH ? all : sample(all, 8, runnable.indexOf(backend))
}

/** Tokens of a long sequence: half as many in plain JavaScript, unless the run is a full one. */
export function tokensOn(backend: BackendName, long: number, short: number): number {
  return backend === 'cpu' && !FULL ? short : long
}
