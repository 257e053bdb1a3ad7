// The timeline: a plotly figure that follows the run. Plotly arrives after the page, when there is something
// to draw: from this server, from beside a page that was made a file, or out of that page itself.

let plotlyArrives = null;

function loadPlotly() {
  plotlyArrives = plotlyArrives || new Promise((resolve, reject) => {
    if (window.Plotly) { resolve(window.Plotly); return; }
    if (PLOTS.packed) { unpackPlotly().then(resolve, reject); return; }
    const script = document.createElement('script');
    script.src = PLOTS.beside || plotlyAddress();
    script.async = true;
    script.onload = () => resolve(window.Plotly);
    script.onerror = () => { plotlyArrives = null; reject(new Error('the library for charts did not load')); };
    document.head.append(script);
  });
  return plotlyArrives;
}

// Relative to the page, so that it holds under a root path too.
function plotlyAddress() {
  const root = (window.gradio_config && window.gradio_config.root) || location.href.replace(/[?#].*/, '');
  return root.replace(/\/?$/, '/') + PLOTS.library;
}

// Text that stands packed in the page: gzip, in base64.
async function unpacked(id) {
  if (!window.DecompressionStream) throw new Error('this browser is too old to unpack what stands in the page');
  const bytes = Uint8Array.from(atob(document.getElementById(id).textContent), (sign) => sign.charCodeAt(0));
  return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream('gzip'))).text();
}

async function unpackPlotly() {
  const script = document.createElement('script');
  script.textContent = await unpacked(PLOTS.packed);
  document.head.append(script);
  if (!window.Plotly) throw new Error('the library for charts did not start');
  return window.Plotly;
}

function whenIdle(work) {
  if (window.requestIdleCallback) window.requestIdleCallback(work, { timeout: 1000 });
  else setTimeout(work, 200);
}

// Drawn at most four times a second, seldom enough to take a small share of the page's time, and only while
// it is on the screen.
const REDRAW = 250; // milliseconds
const SHARE = 0.04;

function makeTimeline(choose) {
  const plot = el('div', 'plot');
  const element = el('div', 'timeline', plot);
  element.setAttribute('role', 'img');
  element.setAttribute('aria-label', 'timeline of the answer: probability of each token, entropy, chance to end; the same numbers stand in the inspector');
  let now = null; // {steps, selected}
  let planned = false; // whether a drawing is
  let timer = 0; // that it waits for,
  let due = 0; // and when that ends
  let visible = false;
  let lasted = 0; // milliseconds of the last drawing
  let drawnAt = 0;
  let listening = false;

  function draw(Plotly) {
    planned = false;
    if (!visible || !now || !now.steps.length || !element.isConnected) return;
    const begun = performance.now();
    const look = PLOTS.timeline[document.body.classList.contains('dark') ? 'dark' : 'light'];
    const { data, layout } = filledTimeline(look, now.steps, now.selected);
    const size = { width: element.clientWidth, height: element.clientHeight };
    Plotly.react(plot, data, { ...layout, ...size }, { displayModeBar: false, staticPlot: false });
    if (!listening) {
      listening = true;
      plot.on('plotly_click', ({ points }) => { if (points.length) choose(points[0].x - 1); });
    }
    lasted = drawnAt ? performance.now() - begun : 0; // the first sets the library up: it tells nothing of the others
    drawnAt = performance.now();
  }

  // A drawing that was planned for later while tokens streamed comes at once when they rest.
  function plan() {
    if (!visible || !now || !now.steps.length) return;
    const wait = Math.max(now.calm ? 0 : REDRAW, lasted / SHARE) - (performance.now() - drawnAt);
    const at = performance.now() + Math.max(0, now.calm ? Math.min(wait, 60) : wait);
    if (planned && at >= due) return;
    planned = true;
    due = at;
    clearTimeout(timer);
    timer = setTimeout(() => {
      loadPlotly().then((Plotly) => whenIdle(() => draw(Plotly)), (error) => {
        planned = false;
        element.classList.add('missing');
        plot.textContent = 'No chart: ' + error.message + '.';
      });
    }, at - performance.now());
  }

  new IntersectionObserver(([entry]) => {
    visible = entry.isIntersecting;
    plan();
  }, { rootMargin: '200px' }).observe(element);
  new ResizeObserver(plan).observe(element);
  new MutationObserver(plan).observe(document.body, { attributes: true, attributeFilter: ['class'] });

  return {
    element,
    // `calm`: nothing is streaming, so that a click may be answered at once.
    update(steps, selected, calm) {
      now = { steps, selected, calm };
      plan();
    },
  };
}
