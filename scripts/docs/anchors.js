// Anchors of the built site: VitePress checks pages that links name, not the places on them.
import {readdirSync, readFileSync} from 'node:fs'
import {join} from 'node:path'

/**
 * Links within the site that lead to no place.
 *
 * @param folder - of the built site
 * @param base - the path at which it is served
 * @returns each with the page that has it
 */
export function brokenAnchors(folder, base) {
  const names = readdirSync(folder, {recursive: true}).filter(name => name.endsWith('.html'))
  const pages = new Map(names.map(name => [name, readFileSync(join(folder, name), 'utf8')]))
  const ids = new Map([...pages].map(([name, html]) => [name, idsOf(html)]))
  return [...pages].flatMap(([name, html]) =>
    linksOf(html, name, base)
      .filter(({page, id}) => ids.has(page) && !ids.get(page).has(id))
      .map(({page, id}) => `${name} -> ${page}#${id}`),
  )
}

function idsOf(html) {
  return new Set([...html.matchAll(/\sid="([^"]+)"/g)].map(([, id]) => unescaped(id)))
}

/** Where links with an anchor lead. */
function linksOf(html, name, base) {
  const here = `https://site${base}${name}`
  return [...html.matchAll(/\shref="([^"]*#[^"]+)"/g)].flatMap(([, href]) => {
    const {origin, pathname, hash} = new URL(unescaped(href), here)
    if (origin !== 'https://site') return []
    const path = pathname.slice(base.length)
    const page = path === '' || path.endsWith('/') ? `${path}index.html` : path
    return [
      {page: page.endsWith('.html') ? page : `${page}.html`, id: decodeURIComponent(hash.slice(1))},
    ]
  })
}

function unescaped(text) {
  return text.replaceAll('&amp;', '&').replaceAll('&quot;', '"')
}
