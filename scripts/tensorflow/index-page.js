// Where a package index has a file: the address of the index as pip finds it, and the links of a project's page.
import {readFileSync} from 'node:fs'
import {homedir} from 'node:os'
import {join} from 'node:path'

const PYPI = 'https://pypi.org/simple'

/**
 * The index that pip would ask: PIP_INDEX_URL, else `index-url` of the last of pip's files that says one, else PyPI.
 *
 * @param env - variables of the environment
 * @param read - the text of a file, or nothing
 */
export function indexUrl(env, read = textOrNothing) {
  if (env.PIP_INDEX_URL) return env.PIP_INDEX_URL
  const home = env.HOME ?? homedir()
  const files = [
    '/etc/pip.conf',
    join(home, '.pip/pip.conf'),
    join(env.XDG_CONFIG_HOME || join(home, '.config'), 'pip/pip.conf'),
    ...(env.PIP_CONFIG_FILE ? [env.PIP_CONFIG_FILE] : []),
  ]
  const said = files.map(file => /^\s*index-url\s*[=:]\s*(\S+)/m.exec(read(file) ?? '')?.[1])
  return said.findLast(Boolean) ?? PYPI
}

function textOrNothing(file) {
  try {
    return readFileSync(file, 'utf8')
  } catch {
    return undefined
  }
}

/** The address of a project's page. */
export function projectPage(index, project) {
  return `${index.replace(/\/+$/, '')}/${project}/`
}

/**
 * The address of a file on a project's page, which lists files as JSON or as links in HTML.
 *
 * @returns the address, or nothing where the page does not list the file
 */
export function linkTo(file, text, page) {
  const found = text.trimStart().startsWith('{')
    ? JSON.parse(text).files?.find(({filename}) => filename === file)?.url
    : [...text.matchAll(/<a\s[^>]*?href\s*=\s*["']([^"'#]*)[^>]*>\s*([^<]*?)\s*<\/a>/gi)].find(
        ([, , name]) => name === file,
      )?.[1]
  return found && new URL(found.replaceAll('&amp;', '&'), page).href
}
