/** Backends that run here. */
import {type BackendName, probeBackends} from '../../src/backends/index.js'

/** Names of the backends that can be tested on this machine; the others are told by `rfa doctor`. */
export async function runnableBackends(): Promise<BackendName[]> {
  const reports = await probeBackends()
  return reports.filter(({available}) => available).map(({name}) => name as BackendName)
}
