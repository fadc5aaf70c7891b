// Whether backend `tensorflow` runs, found out as a user would: in a process of its own, through this package.
import {spawnSync} from 'node:child_process'
import {existsSync} from 'node:fs'
import {join} from 'node:path'
import {pathToFileURL} from 'node:url'
import {Failure} from './failure.js'

/**
 * @param root - the folder of this package
 * @returns whether it runs, or the reason why not
 * @throws {Failure} where this package is not built
 */
export function tryBackend(root) {
  const library = join(root, 'dist', 'src', 'index.js')
  if (!existsSync(library)) throw new Failure('this checkout is not built yet', 'npm run build')
  const program = `
    const {useBackend} = await import(${JSON.stringify(pathToFileURL(library).href)})
    await useBackend('tensorflow').catch(error => {
      console.error(error.message)
      process.exitCode = 1
    })`
  const {status, stderr} = spawnSync(process.execPath, ['--input-type=module', '--eval', program], {
    encoding: 'utf8',
    env: {...process.env, TF_CPP_MIN_LOG_LEVEL: '3'},
  })
  return status === 0 ? {runs: true} : {runs: false, why: stderr.trim().split('\n').at(-1)}
}
