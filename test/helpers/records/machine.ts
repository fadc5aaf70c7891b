import {packageVersion} from '../../../src/package.js'

/** A machine that no test runs on. */
export const MACHINE = {
  cpu: 'Test CPU',
  logical_cores: 4,
  available_parallelism: 2,
  memory_bytes: 8 * 2 ** 30,
  platform: 'linux',
  arch: 'x64',
  node: 'v20.19.0',
  rfa: packageVersion(),
  tfjs: '4.22.0',
  commit: 'abc1234',
}
