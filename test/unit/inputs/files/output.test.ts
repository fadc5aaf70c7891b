import {link, mkdir, symlink, writeFile} from 'node:fs/promises'
import {join} from 'node:path'
import {describe, expect, it} from 'vitest'
import {checkOutput} from '../../../../src/inputs/files/output.js'
import {temporaryFolder} from '../../../helpers/folders.js'

const folder = temporaryFolder()

/** A file of that name in the folder. */
async function file(name: string): Promise<string> {
  const path = join(folder, name)
  await writeFile(path, name)
  return path
}

describe('checkOutput', () => {
  it('lets a new file be written, also where an input is missing', async () => {
    const inputs = [join(folder, 'no-input.npz')]
    await checkOutput(join(folder, 'new.npz'), {inputs, force: false})
  })

  it('refuses a file that exists, unless forced', async () => {
    const path = await file('there.npz')
    await expect(checkOutput(path, {inputs: [], force: false})).rejects.toMatchObject({
      code: 'WOULD_OVERWRITE',
      message: `\`output\`: expected a new file, got ${path}, which exists`,
      suggestions: ['name another file with `output`', 'add `force` to replace it'],
    })
    await checkOutput(path, {inputs: [], force: true})
  })

  it.each([false, true])('refuses a directory, which nothing replaces (force %s)', async force => {
    const path = join(folder, `directory-${force}.npz`)
    await mkdir(path)
    await expect(checkOutput(path, {inputs: [], force})).rejects.toMatchObject({
      code: 'WOULD_OVERWRITE',
      message: `\`output\`: expected a file, got ${path}, a directory`,
      suggestions: ['name a file in it'],
    })
  })

  it.each([false, true])('refuses an input under any of its names (force %s)', async force => {
    const input = await file(`input-${force}.npz`)
    const soft = join(folder, `soft-${force}.npz`)
    const hard = join(folder, `hard-${force}.npz`)
    await symlink(input, soft)
    await link(input, hard)
    const relative = join(folder, 'x', '..', `input-${force}.npz`)
    for (const path of [input, relative, soft, hard]) {
      const rules = {inputs: [join(folder, 'other.npy'), input], force}
      await expect(checkOutput(path, rules)).rejects.toMatchObject({
        code: 'WOULD_OVERWRITE',
        message: `\`output\`: expected another file than the input, got ${path}`,
        suggestions: ['name another file with `output`'],
      })
    }
  })
})
