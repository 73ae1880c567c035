// What k6 runs for k6.yaml: a closed load of CONNECTIONS virtual users, or an open one of RATE requests per second.
import http from 'k6/http';

const users = Number(__ENV.CONNECTIONS);
const rate = Number(__ENV.RATE);
const duration = `${__ENV.DURATION}s`;

const closed = { executor: 'constant-vus', vus: users, duration };
const open = {
  executor: 'constant-arrival-rate', rate, timeUnit: '1s', duration, preAllocatedVUs: users, maxVUs: users,
};

export const options = {
  scenarios: { load: rate > 0 ? open : closed },
  summaryTrendStats: ['avg', 'max', 'p(50)', 'p(90)', 'p(95)', 'p(99)', 'p(99.9)'],
};

export default function () {
  http.get(__ENV.URL);
}

export function handleSummary(data) {
  return { stdout: JSON.stringify(data) };
}
